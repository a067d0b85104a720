"""What the database gives up for another transaction's sake is done again."""

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psycopg
import pytest

from fairlead import Change, Cluster, Store
from fairlead.errors import StoreError, TransientStoreError
from fairlead.store.database.retrying import TIMES
from tests.store.sql import by_hand
from tests.stores import fresh_url, made_url

GIVES_UP = """
CREATE SEQUENCE public.tried;
CREATE FUNCTION public.give_up() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
  IF nextval('public.tried') <= {times} THEN
    RAISE EXCEPTION 'could not serialize' USING ERRCODE = '{state}';
  END IF;
  RETURN NEW;
END $$;
CREATE TRIGGER give_up BEFORE INSERT ON fairlead.journal FOR EACH ROW
  EXECUTE FUNCTION public.give_up();
"""


def giving_up(url: str, times: int, state: str = "40001") -> None:
    """The server gives up so many transactions that write an event."""
    by_hand(url, GIVES_UP.format(times=times, state=state))


@pytest.mark.parametrize("state", ["40001", "40P01"])
def test_the_verbs_of_a_store_try_again(state: str) -> None:
    url = made_url("postgresql")
    with Store.open(url) as store:
        giving_up(url, TIMES - 1, state)
        store.send("q", "body", group="g")
        for again in (
            lambda: store.send_many("q", iter([{"body": 1}, {"body": 2}])),
            lambda: store.prioritise("q", "g", 7),
            lambda: store.take("q").accept(),  # type: ignore[union-attr]
            lambda: store.switch("q", on=False),
        ):
            by_hand(url, "SELECT setval('public.tried', 1)")
            again()
        assert [each.messages for each in store.queues()] == [3]


AT_ANY_TABLE = """
DO $$ DECLARE its record; BEGIN
  FOR its IN SELECT c.oid::regclass AS name FROM pg_class c
    WHERE c.relnamespace = 'fairlead'::regnamespace AND c.relkind = 'r'
  LOOP
    EXECUTE format('CREATE TRIGGER give_up_at_any BEFORE INSERT OR UPDATE OR DELETE ON %s
      FOR EACH STATEMENT EXECUTE FUNCTION public.give_up()', its.name);
  END LOOP;
END $$;
"""
SERVICES = """
[[message_type]]
name = "Order"
[[contract]]
name = "Orders"
initiator = ["Order"]
[[service]]
name = "Shop"
queue = "shop"
contracts = ["Orders"]
[[service]]
name = "Client"
queue = "client"
"""
POOL: Any = {"name": "pool", "destination": [{"name": "A"}, {"name": "B"}]}
NEW: Any = {"name": "new", "destination": [{"name": "A", "weight": 1}]}


def dead(store: Store, *ids: str) -> list[str]:
    """Ids of dead letters."""
    for each in ids:
        store.send("q", "body", id=each, group=each)
        work = store.take("q")
        assert work is not None
        next(work)
        work.reject("bad")
    return list(ids)


def test_what_operators_callers_and_clusters_do_is_tried_again(tmp_path: Path) -> None:
    url = made_url("postgresql")
    file = tmp_path / "shop.toml"
    file.write_text(SERVICES, encoding="utf-8")
    with Store.open(url) as store:
        store.declare(file)
        store.keep_clusters([Cluster.of("fewest-pending", **POOL)])
        a, b = Change("A", "readers", 3), Change("B", "readers", 2)
        verbs: dict[str, Callable[[], object]] = {
            "set_order": lambda: store.set_order("q", "fifo"),
            "set_retention": lambda: store.set_retention(5),
            "declare": lambda: store.declare(file),
            "requeue": lambda: store.requeue("q", iter(["a"])),
            "discard": lambda: store.discard("q", iter(["b"])),
            "requeue all": lambda: store.requeue("q"),
            "prune": lambda: store.prune(0),
            "recover": store.recover,
            "begin_dialog": lambda: store.begin_dialog("Client", "Shop"),
            "keep_clusters": lambda: store.keep_clusters(iter([Cluster.of("msmq", **NEW)])),
            "next_destination": lambda: store.next_destination("pool"),
            "publish": lambda: store.publish("pool", "body"),
            "completed": lambda: store.completed(decision),
            "change": lambda: store.change("pool", "B", "enabled", False),
            "apply": lambda: store.apply("pool", iter([a, b])),
            "add_destination": lambda: store.add_destination("pool", {"name": "C"}),
            "remove_destination": lambda: store.remove_destination("pool", "C"),
            "reset": lambda: store.reset("new"),
        }
        dead(store, "a", "b", "c")
        decision = store.next_destination("pool")
        giving_up(url, TIMES - 1)
        by_hand(url, AT_ANY_TABLE)
        found = {}
        for name, verb in verbs.items():
            by_hand(url, "SELECT setval('public.tried', 1)")
            found[name] = verb()
            (tried,) = by_hand(url, "SELECT last_value FROM public.tried")
            assert tried[0] >= TIMES, name
        assert [found[each] for each in ("requeue", "discard", "requeue all")] == [1, 1, 1]
        machines = {each.name: each.attributes for each in store.pool("pool").machines}
        assert [machines[name]["readers"] for name in ("A", "B")] == [3, 2]
        assert machines.keys() == {"A", "B"}


def test_what_is_given_up_each_time_raises_an_error_that_says_so() -> None:
    url = made_url("postgresql")
    with Store.open(url) as store:
        giving_up(url, 10**6)
        with pytest.raises(TransientStoreError, match="could not serialize"):
            store.send("q", "body")
        assert by_hand(url, "SELECT last_value FROM public.tried") == [(TIMES,)]
        with pytest.raises(TransientStoreError), store.transaction() as tx:
            tx.send("q", "body")
        assert by_hand(url, "SELECT last_value FROM public.tried") == [(TIMES + 1,)]


def test_other_errors_are_not_tried_again() -> None:
    url = made_url("postgresql")
    with Store.open(url) as store:
        giving_up(url, 10**6, "23514")
        with pytest.raises(StoreError) as error:
            store.send("q", "body")
        assert not isinstance(error.value, TransientStoreError)
        assert by_hand(url, "SELECT last_value FROM public.tried") == [(1,)]


def test_a_deadlock_of_the_user_s_own_transactions_says_that_it_can_be_repeated() -> None:
    url = made_url("postgresql")
    by_hand(url, "CREATE TABLE public.mine (id bigint PRIMARY KEY, n bigint)")
    by_hand(url, "INSERT INTO public.mine VALUES (1, 0), (2, 0)")
    update = "UPDATE public.mine SET n = n + 1 WHERE id = %s"
    raised: list[BaseException] = []
    with Store.open(url) as store:
        both = threading.Barrier(2)

        def in_order(first: int, second: int) -> None:
            try:
                with store.transaction() as tx:
                    tx.execute(update, (first,))
                    both.wait()
                    tx.execute(update, (second,))
            except psycopg.errors.DeadlockDetected as error:
                raised.append(error)

        threads = [threading.Thread(target=in_order, args=each) for each in ((1, 2), (2, 1))]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert len(raised) == 1
    assert by_hand(url, "SELECT sum(n) FROM public.mine") == [(2,)]


def test_a_store_of_a_file_that_was_replaced_raises_and_does_not_wait() -> None:
    url = fresh_url("sqlite")
    file = Path(url.removeprefix("sqlite:///"))
    with Store.open(url) as old:
        old.send("q", "body")
        for each in file.parent.glob(f"{file.name}*"):
            each.unlink()
        with Store.open(url) as new:
            new.send("q", "body")
            assert new.take("q") is not None
            with pytest.raises(StoreError, match="deleted or replaced"):
                old.take("q")
