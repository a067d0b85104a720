"""What each role is for on PostgreSQL, as a day of its user goes."""

import time

import psycopg
import pytest
from psycopg.errors import InsufficientPrivilege

from fairlead import Store
from fairlead.cli.app import run
from fairlead.errors import StoreError
from tests.store.roles import SNIPPETS, UrlOf, store_with_roles
from tests.stores import made_url


@pytest.fixture
def url_of() -> UrlOf:
    return store_with_roles()


def test_a_sender_can_send_and_raise_and_nothing_else(url_of: UrlOf) -> None:
    url = url_of("sender")
    with Store.open(url) as store:
        store.send("orders", "o", group="kim", id="o-1")
        store.send("orders", "o", group="kim", id="o-1")
        store.send("orders", "o", delay=60)
        store.send("a new queue", "o")
        store.send_many("for tenants", [{"body": "o", "tenant": "gold"}] * 2)
        with psycopg.connect(url) as connection, store.join(connection) as tx:
            tx.send("orders", "o", group="kim")
        for cluster in ("Bangkok", "tickets"):
            assert [store.next_destination(cluster).outcome for _ in range(300)] == ["routed"] * 300
            decision = store.publish(cluster, "o", id="published")
            assert store.publish(cluster, "o", id="published").sequence == decision.sequence
        with psycopg.connect(url) as connection:
            row = connection.execute(
                "SELECT sequence FROM fairlead.publish('Bangkok', 'o'::text, id => 'published')"
            ).fetchone()
            assert row == (300,)
        assert store.prioritise("orders", "kim", 200)
        dialog = store.begin_dialog("Client", "Shop", lifetime=60)
        dialog.send("Order", {"item": "lamp"})
        dialog.send("Order", {"item": "chair"})
        assert dialog.prioritise(200)
        assert store.conversation(dialog.id).state == "conversing"
        for refused in (
            dialog.end,
            lambda: store.take("orders"),
            lambda: store.dead("orders"),
            lambda: list(store.journal()),
            lambda: store.set_limits("orders"),
            lambda: store.next_destination("pending"),
        ):
            with pytest.raises(StoreError, match="permission denied") as told:
                refused()
            assert "user 'sender_user' may not do this, it takes the role" in str(told.value)
            assert "\n" not in str(told.value)


def test_what_a_function_refuses_names_the_role_and_the_user(url_of: UrlOf) -> None:
    with Store.open(url_of("sender")) as store:
        with pytest.raises(StoreError, match="it takes the role fairlead_worker; found") as told:
            store.send("fairlead:own", "o")
        assert str(told.value).endswith("found user 'sender_user'")


def test_a_worker_can_take_and_settle_and_sets_no_queue(url_of: UrlOf) -> None:
    with Store.open(url_of("worker")) as store:
        store.send("for tenants", "o", tenant="small")
        store.send("work", "o", group="kim")
        store.send("work", "o")
        to = store.publish("pending", "o").destination
        done = store.take(to or "")
        assert done is not None
        done.accept()
        for queue in ("for tenants", "work"):
            work = store.take(queue)
            assert work is not None
            work.extend(60)
            work.release(error="why")
            work = store.take(queue)
            assert work is not None
            with work.transaction() as tx:
                tx.send("more", [message.body for message in work])
                tx.accept()
        work = store.take("work")
        assert work is not None
        assert next(work).body == "o"
        work.reject("why")
        assert [dead.reason for dead in store.dead("work")] == ["why"]
        assert store.take("work", wait=0.01) is None
        store.accept(store.take_many("more", 10))
        assert store.queues()
        assert store.waiting("work").waiting == 0
        assert list(store.journal())
        store.stopping()
        for refused in (
            lambda: store.requeue("work"),
            lambda: store.set_order("work", "fifo"),
            lambda: store.prune(0),
        ):
            with pytest.raises(StoreError, match="permission denied"):
                refused()


def test_a_worker_has_all_that_a_dialog_needs(url_of: UrlOf) -> None:
    with Store.open(url_of("worker")) as store:
        one = store.begin_dialog("Client", "Shop", lifetime=60)
        one.send("Order", {"item": "lamp"})
        other = store.begin_dialog("Client", "Shop", related=one)
        other.bind(one)
        other.timer(0.001)
        other.timer(None)
        other.send("Order", "no json")
        work = store.take("shop", group=f"{one.dialog}/t")
        assert work is not None
        with work.transaction() as tx:
            here = tx.conversation(next(work).conversation or "")
            here.send("Confirmation", "lamp")
            here.end(error=(17, "no lamp is left"))
            tx.accept()
        answers = one.take()
        assert answers is not None
        assert [message.type for message in answers] == ["Error", "Confirmation"]
        answers.accept()
        one.end()
        other.end()
        assert (one.state, other.state) == ("ended", "ended")
        assert store.take("client") is None
        assert store.service("Shop").queue == "shop"
        with pytest.raises(StoreError, match="permission denied"):
            store.declare(SNIPPETS / "dialogs.toml")


def test_a_viewer_looks_and_changes_nothing(url_of: UrlOf) -> None:
    with Store.open(url_of("worker")) as store:
        store.send("seen", "o", group="kim")
        store.send("seen", "o", delay=60)
    with Store.open(url_of("viewer")) as store:
        assert "seen" in [found.queue for found in store.queues()]
        assert [each.why for each in store.later("seen")] == ["delayed"]
        assert store.dead("seen") == []
        assert store.latest() is not None
        assert list(store.journal())
        for refused in (
            lambda: store.send("seen", "o"),
            lambda: store.take("seen"),
            lambda: store.prioritise("seen", "kim"),
            lambda: store.discard("seen"),
        ):
            with pytest.raises(StoreError, match="permission denied"):
                refused()


def test_a_viewer_looks_at_a_queue_in_which_something_is_due(url_of: UrlOf) -> None:
    with Store.open(url_of("worker")) as store, Store.open(url_of("viewer")) as viewer:
        store.send("due", "here", group="kim")
        store.send("due", "raised", group="lee")
        store.send("due", "late", delay=0.5)
        store.prioritise("due", "lee", 200)
        while (later := store.later("due")) and later[0].until > time.time():
            time.sleep(0.01)
        assert viewer.waiting("due").waiting == 2
        assert [each.body for each in viewer.peek("due", "kim")] == ["here"]
        assert viewer.promotion("due", "kim", 250) is not None
        assert [each.why for each in viewer.later("due")] == ["delayed"], "what is due was not done"
        with pytest.raises(StoreError, match="permission denied"):
            viewer.take("due")


def test_a_worker_forgets_what_is_old_and_nothing_else(url_of: UrlOf) -> None:
    with psycopg.connect(url_of("owner")) as owner:
        owner.execute("UPDATE fairlead.journal SET time = time - 31 * 86400 * 1000000::bigint")
    with Store.open(url_of("sender")) as store:
        store.send("work", "o")
    clock = "SELECT set_config('fairlead.clock', '9000000000000000', false)"  # in 2255
    forget = "SELECT fairlead._forget_events(9000000000000000, 1000)"
    with Store.open(url_of("worker")) as store:
        before = len(list(store.journal()))
        work = store.take("work")
        assert work is not None
        assert next(work).body == "o"
        work.accept()
        assert [event.kind for event in store.journal()] == ["sent", "taken", "accepted"]
        assert before > 2
        with psycopg.connect(url_of("worker")) as connection:
            connection.execute(clock)
            assert connection.execute(forget).fetchall() == []
            with pytest.raises(InsufficientPrivilege):
                connection.execute("DELETE FROM fairlead.journal")
        with pytest.raises(StoreError, match="permission denied"):
            store.set_retention(1)


def test_an_operator_can_do_all_but_change_the_schema(url_of: UrlOf) -> None:
    url = url_of("operator")
    with Store.open(url) as store:
        store.set_order("office", weights={"gold": 2})
        store.set_limits("office", max_waiting=5)
        store.send("office", "o", tenant="gold")
        work = store.take("office")
        assert work is not None
        next(work)
        work.reject("why")
        assert store.requeue("office") == 1
        work = store.take("office")
        assert work is not None
        next(work)
        work.reject("why")
        assert store.discard("office") == 1
        store.send("office", "o", tenant="gold")
        assert store.take("office") is not None
        assert store.recover() == 1
        store.change("Bangkok", "DEV1", "weight", 5)
        with psycopg.connect(url) as connection:
            connection.execute(
                "UPDATE fairlead.machines SET weight = 100 WHERE cluster = 'Bangkok'"
            )
            connection.execute("SELECT fairlead.reset('Bangkok')")
        assert store.prune(0) > 0
        store.set_retention(90)
    with psycopg.connect(url) as connection, pytest.raises(InsufficientPrivilege):
        connection.execute("CREATE TABLE fairlead.more (id int)")


def test_a_viewer_sees_dialogs_and_can_act_in_none(
    url_of: UrlOf, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with Store.open(url_of("worker")) as store:
        begun = store.begin_dialog("Client", "Shop")
        begun.send("Order", {"item": "lamp"})
        store.dialog_waits(begun.dialog)  # does what is due: for that a viewer has no right
    monkeypatch.setenv("FAIRLEAD_STORE", url_of("viewer"))
    for shown in (
        ("conversations",),
        ("conversations", "--service", "Shop"),
        ("conversation", begun.dialog),
        ("conversation", begun.dialog, "--json"),
    ):
        assert run(shown) == 0
        told = capsys.readouterr()
        assert begun.dialog in told.out
        assert begun.id not in told.out
    for refused in (["--ids"], ["--end", "--yes"]):
        assert run(["conversation", begun.dialog, *refused]) != 0
        told = capsys.readouterr()
        assert (told.out, told.err.count("\n")) == ("", 1)
        assert "'viewer_user' may not do this, it takes the role fairlead_worker, which" in told.err


def test_an_upgrade_gives_what_the_new_version_needs_and_takes_nothing_away(
    request: pytest.FixtureRequest,
) -> None:
    url_of = store_with_roles()
    request.getfixturevalue("later")
    may = "SELECT has_table_privilege('worker_user', 'fairlead.groups', 'UPDATE')"
    with psycopg.connect(url_of("owner"), autocommit=True) as owner:
        owner.execute("REVOKE EXECUTE ON ALL FUNCTIONS IN SCHEMA fairlead FROM fairlead_worker")
        owner.execute("GRANT UPDATE ON fairlead.groups TO fairlead_worker")
        with Store.open(url_of("owner"), upgrade=True) as store:
            with Store.open(url_of("worker")) as mine:
                mine.send("work", "o")
                work = mine.take("work")
                assert work is not None
                assert [each.body for each in work] == ["o"]
                work.accept()
            assert owner.execute(may).fetchone() == (True,)
            store.make_roles()
            assert owner.execute(may).fetchone() == (False,)


def test_an_upgrade_makes_no_roles_where_none_were_made(request: pytest.FixtureRequest) -> None:
    url = made_url("postgresql")
    request.getfixturevalue("later")
    with psycopg.connect(url, autocommit=True) as owner:
        Store.open(url, upgrade=True).close()
        may = "SELECT has_schema_privilege('fairlead_worker', 'fairlead', 'USAGE')"
        if owner.execute("SELECT 1 FROM pg_roles WHERE rolname = 'fairlead_worker'").fetchone():
            assert owner.execute(may).fetchone() == (False,)
