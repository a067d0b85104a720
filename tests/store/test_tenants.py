"""Tenants, where settling has a case of its own, and where many take and send at once."""

import threading
from pathlib import Path

from fairlead import Store
from tests.stores import made_url

LIMITED = """
[[queue]]
name = "q"
weights = {a = 3, b = 1}
max_failures = 1000
limit = [{in_work = 3}, {of = "tenant", in_work = 2}]
"""


def test_a_tenant_whose_work_is_given_back_in_part_has_had_its_turn(store: Store) -> None:
    store.set_order("q", weights={"gold": 1, "tin": 1})
    store.send("q", "g1", group="g", tenant="gold")
    store.send("q", "g2", group="g", tenant="gold")
    store.send("q", "t1", group="t", tenant="tin")
    store.send("q", "t2", group="u", tenant="tin")
    work = store.take("q")
    assert work is not None
    assert (work.tenant, [message.body for message in work]) == ("gold", ["g1", "g2"])
    other = store.take("q")
    assert other is not None
    assert [message.body for message in other] == ["t1"]
    other.accept()
    work.release(done=1)  # the first is done: both were served once, and gold comes after tin now
    order = []
    while again := store.take("q"):
        order += [message.body for message in again]
        again.accept()
    assert order == ["t2", "g2"]


def test_a_tenant_whose_work_is_given_back_whole_keeps_its_turn(store: Store) -> None:
    store.set_order("q", weights={"gold": 1, "tin": 1})
    for body, group, tenant in (("g1", "g", "gold"), ("g2", "g", "gold"), ("t1", "t", "tin")):
        store.send("q", body, group=group, tenant=tenant)
    work = store.take("q")
    assert work is not None
    assert len(list(work)) == 2
    work.release()
    again = store.take("q")
    assert again is not None
    assert again.tenant == "gold"


def test_a_tenant_that_comes_late_is_not_paid_for_the_time_before(store: Store) -> None:
    def served(most: int) -> list[str]:
        tenants = []
        for _ in range(most):
            work = store.take("q")
            assert work is not None
            with work:
                list(work)
            tenants.append(work.tenant)
        return tenants

    store.send_many("q", [{"body": number} for number in range(10)])
    assert served(5) == [""] * 5
    store.send_many("q", [{"body": number, "tenant": "late"} for number in range(4)])
    assert sorted(served(2)) == sorted(served(2)) == ["", "late"]


def test_readers_and_senders_at_once_lose_nothing_and_leave_nothing(tmp_path: Path) -> None:
    url = made_url("postgresql")
    (tmp_path / "q.toml").write_text(LIMITED)
    done: list[str] = []
    in_hand: set[int] = set()
    most_in_hand = 0
    lock = threading.Lock()

    def send(sender: int) -> None:
        with Store.open(url) as own:
            for k in range(60):
                tenant = "abc"[k % 3]
                group = f"{tenant}{k % 8}" if k % 4 else None
                priority = 5 if k % 5 == 0 else None
                body = f"{sender}-{k}"
                own.send("q", body, group=group, tenant=tenant, cost=k % 4 + 1, priority=priority)

    def work(reader: int) -> None:
        nonlocal most_in_hand
        with Store.open(url) as own:
            while works := own.take_many("q", 1 + reader % 2, wait=1):
                for each in works:
                    with lock:
                        in_hand.add(each.token)
                        most_in_hand = max(most_in_hand, len(in_hand))
                    bodies = [message.body for message in each]
                    with lock:
                        in_hand.remove(each.token)
                    if each.attempt == 1 and each.token % 5 == 0:
                        each.release()
                    else:
                        each.accept()
                        with lock:
                            done.extend(bodies)

    with Store.open(url) as store:
        store.declare(tmp_path / "q.toml")
        threads = [threading.Thread(target=send, args=(k,)) for k in range(2)]
        threads += [threading.Thread(target=work, args=(k,)) for k in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert sorted(done) == sorted(f"{sender}-{k}" for sender in range(2) for k in range(60))
        assert most_in_hand <= 3
        assert store.take("q") is None
        with store.transaction() as tx:
            left = "SELECT (SELECT count(*) FROM fairlead.tenants), backlogged, in_service"
            rows = tx.execute(f"{left} FROM fairlead.queues").fetchall()
        assert rows == [(0, 0, 0)]
