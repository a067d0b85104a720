"""The SQL that the documentation shows gives what the documentation shows, on a real PostgreSQL."""

import os
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from runpy import run_path

import psycopg
import pytest
from psycopg.errors import DatabaseError, InsufficientPrivilege

from fairlead import Cluster, Store
from fairlead.errors import StoreError
from tests.stores import made_url

SNIPPETS = Path(__file__).parents[2] / "docs" / "snippets"
UrlOf = Callable[[str], str]
Run = Callable[..., None]


def statements(script: str) -> Iterator[str]:
    """The statements of a script; a function's body, between two $$, stays whole."""
    statement = ""
    for line in script.splitlines(keepends=True):
        statement += line
        if line.rstrip().endswith(";") and statement.count("$$") % 2 == 0:
            yield statement
            statement = ""


def printed(script: str, url: str) -> str:
    """What `psql -At` prints."""
    lines = []
    with psycopg.connect(url, autocommit=True) as connection:
        for statement in statements(script):
            result = connection.execute(statement.encode()).pgresult
            assert result is not None
            for row in range(result.ntuples):
                cells = (result.get_value(row, column) or b"" for column in range(result.nfields))
                lines.append(b"|".join(cells).decode())
    return "".join(f"{line}\n" for line in lines)


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Run:
    """Runs a program of the documentation with changes; it prints what the documentation shows."""

    def run(name: str, *changes: tuple[str, str]) -> None:
        program = (SNIPPETS / f"{name}.py").read_text(encoding="utf-8")
        for old, new in changes:
            assert old in program
            program = program.replace(old, new)
        assert "sqlite" not in program
        file = tmp_path / f"{name}.py"
        file.write_text(program, encoding="utf-8")
        run_path(str(file))
        assert capsys.readouterr().out == (SNIPPETS / f"{name}.txt").read_text(encoding="utf-8")

    return run


@pytest.mark.parametrize("name", ["queues", "transaction", "trigger", "procedure", "machines"])
def test_the_sql_of_the_documentation_gives_what_is_shown(name: str) -> None:
    script = (SNIPPETS / f"{name}.sql").read_text(encoding="utf-8")
    url = made_url("postgresql")
    if "fairlead.machines" in script:
        with Store.open(url) as store:
            store.load_clusters(SNIPPETS / "bangkok.toml")
    got = printed(script, url)
    said = SNIPPETS / f"{name}.txt"
    if "UPDATE_DOCS" in os.environ:
        said.write_text(got, encoding="utf-8")
    assert got == said.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("choose", "second"),
    [
        ("SELECT get_load_balanced_queue_name('Bangkok')", "dev2"),
        ("SELECT address FROM fairlead.next_destination('Bangkok')", "dev1"),
    ],
    ids=["the document's procedure", "ours"],
)
def test_two_sessions_at_one_time_choose_one_after_the_other_with_ours_alone(
    choose: str, second: str
) -> None:
    url = made_url("postgresql")
    with Store.open(url) as store:
        store.load_clusters(SNIPPETS / "bangkok.toml")
    script = (SNIPPETS / "procedure.sql").read_text(encoding="utf-8")
    with psycopg.connect(url, autocommit=True) as one, psycopg.connect(url) as two:
        for statement in list(statements(script))[:-2]:
            one.execute(statement.encode())
        with ThreadPoolExecutor(1) as other, one.transaction():
            chosen = [one.execute(choose.encode()).fetchone()]
            found = other.submit(lambda: two.execute(choose.encode()).fetchone())
            waits = "SELECT 1 FROM pg_stat_activity WHERE pid = %s AND wait_event_type = 'Lock'"
            while not one.execute(waits, [two.info.backend_pid]).fetchone():
                one.execute("SELECT pg_stat_clear_snapshot()")
            one.execute("COMMIT")
            chosen.append(found.result())
    paths = [f"DIRECT=OS:{machine}\\private$\\orders" for machine in ("dev2", second)]
    assert chosen == [(path,) for path in paths]


def test_the_outbox_of_the_documentation_is_the_same_on_postgresql(run: Run) -> None:
    url = made_url("postgresql")
    engine = url.replace(":", "+psycopg:", 1)
    run(
        "outbox-sqlalchemy",
        ('open("sqlite:///alchemy.db', f'open("{url}'),
        ('engine("sqlite:///alchemy.db', f'engine("{engine}'),
    )


def test_jobs_are_moved_on_postgresql_with_the_changes_that_the_documentation_names(
    run: Run,
) -> None:
    url = made_url("postgresql")
    script = (SNIPPETS / "jobs-before.py").read_text(encoding="utf-8").split('"""')[1]
    with psycopg.connect(url) as connection:
        connection.execute(script.replace("INTEGER PRIMARY KEY", "SERIAL PRIMARY KEY").encode())
    run(
        "jobs-move",
        ("sqlite:///work.db", url),
        ('sqlite3.connect("work.db")', f'psycopg.connect("{url}")'),
        ("import sqlite3", "import psycopg"),
        ('    cursor.execute("BEGIN IMMEDIATE")\n', ""),
        ("LIMIT ?", "LIMIT %s FOR UPDATE SKIP LOCKED"),
        ("= ?", "= %s"),
    )


@pytest.fixture(scope="module")
def url_of() -> UrlOf:
    """The URL of one store for a user with a role of the documentation."""
    url = made_url("postgresql")
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute((SNIPPETS / "roles.sql").read_bytes())
        for role in ("sender", "worker", "administrator", "viewer"):
            connection.execute(f"CREATE ROLE {role}_user LOGIN IN ROLE fairlead_{role}".encode())
    with Store.open(url) as owner:
        owner.send("orders", "early")
        owner.declare(SNIPPETS / "dialogs.toml")
        owner.load_clusters(SNIPPETS / "bangkok.toml")
        pending = [{"name": "DEV1"}, {"name": "DEV2"}]
        owner.keep_clusters([Cluster.of("fewest-pending", name="pending", destination=pending)])
    return lambda role: url.replace("//postgres:", f"//{role}_user:")


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
        for cluster in ("Bangkok", "pending"):
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
        ):
            with pytest.raises(StoreError, match="permission denied"):
                refused()


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


def test_a_lease_of_no_time_is_refused() -> None:
    with psycopg.connect(made_url("postgresql")) as connection:
        with pytest.raises(DatabaseError, match="lease: found less than a millisecond") as refused:
            connection.execute("SELECT * FROM fairlead.take('q', lease => '0')")
        assert refused.value.sqlstate == "FL001"


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


def test_a_worker_forgets_what_is_old_and_nothing_else(url_of: UrlOf) -> None:
    with psycopg.connect(url_of("postgres").replace("postgres_user", "postgres")) as owner:
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


def test_an_administrator_can_do_all_but_change_the_schema(url_of: UrlOf) -> None:
    url = url_of("administrator")
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
