"""The SQL that the documentation shows gives what the documentation shows, on a real PostgreSQL."""

import os
import re
import shutil
import site
import subprocess
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from random import Random
from runpy import run_path

import psycopg
import pytest
from psycopg.errors import DatabaseError

from fairlead import Store
from tests.stores import made_url

SNIPPETS = Path(__file__).parents[2] / "docs" / "snippets"
PROCEDURE = Path(__file__).parent / "msmq_procedure.sql"
"""The document's table and procedure, as others would write them in PL/pgSQL."""
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


@pytest.mark.parametrize(
    "name",
    [
        "queues",
        "transaction",
        "poison",
        "trigger",
        "machines",
        "views",
        "dialogs",
        "priority-run",
    ],
)
def test_the_sql_of_the_documentation_gives_what_is_shown(name: str) -> None:
    script = (SNIPPETS / f"{name}.sql").read_text(encoding="utf-8")
    url = made_url("postgresql")
    if "fairlead.machines" in script:
        with Store.open(url) as store:
            store.load_clusters(SNIPPETS / "bangkok.toml")
    if "begin_dialog" in script:
        with Store.open(url) as store:
            store.declare(SNIPPETS / "dialogs.toml")
    if name == "priority-run":
        with_priority_services(url)
    got = printed(script, url)
    said = SNIPPETS / f"{name}.txt"
    if "UPDATE_DOCS" in os.environ:
        said.write_text(got, encoding="utf-8")
    assert got == said.read_text(encoding="utf-8")


def with_priority_services(url: str) -> None:
    """The sample of the document, in a store."""
    with Store.open(url) as store:
        store.declare(SNIPPETS / "priority.toml")
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute((SNIPPETS / "priority-services.sql").read_bytes())


def psql() -> str:
    """The program, where there is one."""
    beside = [
        str(file)
        for place in site.getsitepackages()
        for file in Path(place).glob("*/pginstall*/bin/psql")
    ]
    found = shutil.which("psql") or (max(beside) if beside else None)
    if found is None:
        pytest.skip("not here: psql")
    return found


def test_what_an_open_transaction_has_taken_only_the_server_shows() -> None:
    url = made_url("postgresql")
    with (
        psycopg.connect(url, autocommit=True) as looks,
        psycopg.connect(url) as takes,
    ):
        looks.execute("SELECT fairlead.send('q', 'body', 'g')")
        assert takes.execute("SELECT count(*) FROM fairlead.take('q')").fetchone() == (1,)
        assert looks.execute("SELECT in_group, why FROM fairlead.waiting").fetchall() == [
            ("g", "ready")
        ]
        assert looks.execute("SELECT * FROM fairlead.held").fetchall() == []
        query = (SNIPPETS / "open-work.sql").read_bytes()
        ((pid, user, state, _),) = looks.execute(query).fetchall()
        assert (pid, user) == (takes.info.backend_pid, takes.info.user)
        assert state == "idle in transaction"
        takes.rollback()
        assert looks.execute(query).fetchall() == []


@pytest.mark.parametrize("name", ["dialogs", "poison", "priority-run", "queues"])
def test_psql_prints_the_same(name: str) -> None:
    program, url = psql(), made_url("postgresql")
    with_priority_services(url)
    with Store.open(url) as store:
        store.declare(SNIPPETS / "dialogs.toml")
    command = [program, "-qAtX", "-v", "ON_ERROR_STOP=1", "-f", str(SNIPPETS / f"{name}.sql"), url]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.stderr == ""
    assert done.stdout == (SNIPPETS / f"{name}.txt").read_text(encoding="utf-8")


def test_eight_sessions_at_one_time_answer_each_request_once() -> None:
    url = made_url("postgresql")
    with_priority_services(url)

    def call(text: str) -> None:
        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute(text.encode())

    with ThreadPoolExecutor(8) as pool:
        sends = [f"CALL send_requests({10 * k}, {10 * k + 9})" for k in range(4)]
        ends = ["CALL front_end_service()"] * 2 + ["CALL back_end_service()"] * 2
        list(pool.map(call, [*sends, *ends]))
        for text in ["CALL front_end_service()", "CALL back_end_service()"] * 2:
            list(pool.map(call, [text] * 8))
        list(pool.map(call, ["CALL read_responses()"] * 8))
        for text in ["CALL front_end_service()", "CALL back_end_service()"] * 2:
            list(pool.map(call, [text] * 8))
    with Store.open(url) as store, psycopg.connect(url) as connection:
        found = connection.execute("SELECT body FROM responses").fetchall()
        expected = [f"<result><request>{k}</request></result>" for k in range(40)]
        assert sorted(body for (body,) in found) == sorted(expected)
        assert all(each.messages == each.dead == 0 for each in store.queues())
        assert store.conversations() == []
        assert store.check() == []


def test_the_procedure_of_the_document_gives_one_caller_what_the_weights_say() -> None:
    got = printed(PROCEDURE.read_text(encoding="utf-8"), made_url("postgresql"))
    assert got == "100\nDEV1|29\nDEV2|57\nDEV3|14\n"


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
    script = PROCEDURE.read_text(encoding="utf-8")
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


def test_a_lease_of_no_time_is_refused() -> None:
    with psycopg.connect(made_url("postgresql")) as connection:
        connection.execute("SELECT fairlead.send('q', '1')")
        with pytest.raises(DatabaseError, match="lease: found less than a millisecond") as refused:
            connection.execute("SELECT * FROM fairlead.take('q', lease => '0')")
        assert refused.value.sqlstate == "FL001"


@pytest.mark.parametrize("ageing", [0, 5])
def test_sql_says_whom_a_raise_would_delay_as_python_does(ageing: int) -> None:
    url = made_url("postgresql")
    dice = Random(ageing)  # noqa: S311
    with Store.open(url) as store, psycopg.connect(url, autocommit=True) as connection:
        store.set_order("q", ageing=ageing)
        groups = [f"g{k}" for k in range(12)]
        for group in groups:
            store.send("q", 1, group=group, priority=dice.choice([None, 5, 100, 200]))
        store.prioritise("q", "g5", 7)
        assert store.take("q", group="g9") is not None
        for group in groups:
            for priority in (None, 0, 50, 200, 255):
                said = store.promotion("q", group, priority)
                asked = "SELECT in_group FROM fairlead.delayed_by('q', %s, %s::integer)"
                found = [name for (name,) in connection.execute(asked, [group, priority])]
                assert said is not None
                assert found == [each.group for each in said.later]


@pytest.mark.parametrize(
    ("call", "why"),
    [
        ("send('q', 'x', expires => '0')", "expires: found 00:00:00, allowed: a time after"),
        (
            "send('q', 'x', delay => '2 s', expires => '2 s')",
            "expires: found 00:00:02, allowed: a time after the message arrives",
        ),
        ("send('q', 'x', \"group\" => E'a\\nlevel=error')", "group, id, type and tenant: found"),
        ("send('q', 'x', id => U&'\\202Egnp')", "group, id, type and tenant: found"),
        ("send('q', 'x', type => U&'a\\2028b')", "group, id, type and tenant: found"),
        ("send('q', 'x', tenant => U&'\\00A0')", "group, id, type and tenant: found"),
        ("send(E'a\\tb', 'x')", "queue: found no name"),
        ("send(U&'\\FEFFq', 'x')", "queue: found no name"),
    ],
)
def test_sql_refuses_of_a_message_what_the_library_refuses(call: str, why: str) -> None:
    """Names in which a terminal would see lines of their own, and ends before the beginning."""
    with psycopg.connect(made_url("postgresql"), autocommit=True) as connection:
        with pytest.raises(psycopg.DatabaseError, match=re.escape(why)) as refused:
            connection.execute(f"SELECT fairlead.{call}".encode())
        assert refused.value.sqlstate == "FL001"
        name = "Bücher / \u4e66, e\u0301 \U0001f600"
        sent = "SELECT fairlead.send(%s, 'x', \"group\" => %s, expires => '1 s', delay => '1 ms')"
        connection.execute(sent, (name, name))
