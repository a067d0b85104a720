"""Groups to which a transaction is sending for long are not looked at again with each take."""

import psycopg

from fairlead import Store
from tests.store.sql import by_hand
from tests.stores import made_url

DUE = "SELECT count(*) FROM fairlead.groups WHERE state = 3 AND not_before <= %s"


def test_a_group_is_looked_at_again_the_later_the_longer_somebody_sends_to_it() -> None:
    url = made_url("postgresql")
    now = 1_000.0
    with Store.open(url, clock=lambda: now) as store, psycopg.connect(url) as sender:
        store.send_many("q", [{"body": "early", "group": f"g{k}"} for k in range(20)])
        works = store.take_many("q", 20)
        for k in range(20):
            sender.execute("SELECT fairlead.send('q', 'late', %s)", (f"g{k}",))
        for work in works:
            assert next(work).body == "early"
            work.accept()
        pauses = []
        for _ in range(12):
            before = now
            ((until,),) = by_hand(url, "SELECT min(not_before) FROM fairlead.groups")
            now = until / 1e6
            assert by_hand(url, DUE, until) == [(20,)]
            assert store.take("q") is None
            assert by_hand(url, DUE, until) == [(0,)], "not with the next take"
            pauses.append(round(now - before, 3))
        assert pauses[:2] == [0.05, 0.05]
        assert pauses == sorted(pauses)
        assert max(pauses) <= 1
        now += 100
        assert store.take("q") is None
        ((first,), (last,)) = by_hand(
            url,
            "SELECT min(not_before) FROM fairlead.groups "
            "UNION ALL SELECT max(not_before) FROM fairlead.groups",
        )
        assert first == last == (now + 1) * 1e6, "at most a second"
        sender.commit()
        now += 1
        found = store.take_many("q", 20)
        assert sorted(next(work).body for work in found) == ["late"] * 20
