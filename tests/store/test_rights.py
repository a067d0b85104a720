"""Who may only send can do nothing but send, whatever he makes, says or sets.

Nor can he do it in another's name.
"""

import json
import re
from collections.abc import Iterator
from typing import Any, Final

import psycopg
import pytest
from psycopg.errors import InsufficientPrivilege

from fairlead import Store
from fairlead.store.database.rights import who_may
from fairlead.store.database.statements import statements
from tests.store.roles import ROLES, UrlOf, store_with_roles
from tests.store.test_roles_by_verb import SQL


@pytest.fixture(scope="module")
def url_of() -> UrlOf:
    return store_with_roles()


@pytest.fixture
def owner(url_of: UrlOf) -> Iterator[psycopg.Connection[Any]]:
    with psycopg.connect(url_of("owner"), autocommit=True) as found:
        yield found


EVERYBODY = (*ROLES, "viewer", "nobody")
TO_CHANGE = {"operator": {"machines"}}
"""Views of which the rows can be changed: that calls functions."""


@pytest.mark.parametrize("role", EVERYBODY)
def test_a_role_has_no_right_to_write_any_table(role: str, owner: psycopg.Connection[Any]) -> None:
    asked = (
        "SELECT c.relname FROM pg_class c WHERE c.relnamespace = 'fairlead'::regnamespace "
        "AND c.relkind IN ('r', 'v', 'S', 'p') AND (CASE WHEN c.relkind = 'S' "
        "THEN has_sequence_privilege(%(user)s, c.oid, 'USAGE, UPDATE') ELSE "
        "has_any_column_privilege(%(user)s, c.oid, 'INSERT, UPDATE, REFERENCES') OR "
        "has_table_privilege(%(user)s, c.oid, 'INSERT, UPDATE, DELETE, TRUNCATE, TRIGGER') END)"
    )
    found = owner.execute(asked, {"user": f"{role}_user"}).fetchall()
    assert {name for (name,) in found} == TO_CHANGE.get(role, set())


WRITES = (
    "INSERT INTO fairlead.{table} DEFAULT VALUES",
    "UPDATE fairlead.{table} SET {column} = DEFAULT",
    "DELETE FROM fairlead.{table}",
    "TRUNCATE fairlead.{table}",
    "SELECT 1 FROM fairlead.{table} FOR KEY SHARE",
)


SEQUENCES = (
    "SELECT relname FROM pg_class WHERE relnamespace = 'fairlead'::regnamespace AND relkind = 'S'"
)


@pytest.mark.parametrize("role", EVERYBODY)
def test_what_a_role_writes_to_a_table_is_refused(
    role: str, url_of: UrlOf, owner: psycopg.Connection[Any]
) -> None:
    asked = (
        "SELECT c.relname, a.attname FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid "
        "AND a.attnum = 1 WHERE c.relnamespace = 'fairlead'::regnamespace AND c.relkind = 'r'"
    )
    tables = owner.execute(asked).fetchall()
    assert len(tables) > 20
    before = owner.execute("SELECT count(*) FROM fairlead.journal").fetchone()
    with psycopg.connect(url_of(role), autocommit=True) as mine:
        for table, column in tables:
            for write in WRITES:
                with pytest.raises(InsufficientPrivilege):
                    mine.execute(write.format(table=table, column=column).encode())
        for (sequence,) in owner.execute(SEQUENCES).fetchall():
            for call in ("nextval('fairlead.{}')", "setval('fairlead.{}', 1)"):
                with pytest.raises(InsufficientPrivilege):
                    mine.execute(f"SELECT {call.format(sequence)}".encode())
        for ddl in ("CREATE TABLE fairlead.mine (id int)", "DROP FUNCTION fairlead._now()"):
            with pytest.raises(InsufficientPrivilege):
                mine.execute(ddl.encode())
    assert owner.execute("SELECT count(*) FROM fairlead.journal").fetchone() == before


def test_a_function_is_nobodys_but_those_roles_that_are_granted_it(
    owner: psycopg.Connection[Any],
) -> None:
    asked = (
        "SELECT p.proname, "
        "p.prosecdef AND 'search_path=pg_catalog, pg_temp' = ANY (p.proconfig), "
        "ARRAY (SELECT r FROM unnest(%s::text[]) r "
        "WHERE has_function_privilege(r || '_user', p.oid, 'EXECUTE')) "
        "FROM pg_proc p WHERE p.pronamespace = 'fairlead'::regnamespace"
    )
    rows = owner.execute(asked, [[*ROLES, "viewer", "nobody"]]).fetchall()
    assert not [name for name, _, roles in rows if "nobody" in roles]
    assert {name for name, _, roles in rows if "viewer" in roles} == {
        *("_find", "_find_bound", "_state", "_tickets", "_sent", "_text", "place_of")
    }
    of_sender = {name: definer for name, definer, roles in rows if "sender" in roles}
    assert all(of_sender.values()), of_sender
    below = {name: definer for name, definer, roles in rows if {"worker", "chooser"} & {*roles}}
    assert all(below.values()), below
    assert {name for name in of_sender if not name.startswith("_")} == {
        name for name, (least, _) in SQL.items() if least == "sender"
    }


PARAMETER: Final = re.compile(r"%\(\w+(?:\.begin)?\)s")


def test_a_role_that_an_error_names_may_run_what_was_refused(url_of: UrlOf) -> None:
    refused: dict[str, set[str]] = {name: set() for name in statements("postgresql")}
    for role in (*ROLES, "viewer"):
        with psycopg.connect(url_of(role), autocommit=True) as connection:
            for name, text in statements("postgresql").items():
                explained = "EXPLAIN " + PARAMETER.sub("NULL", text).replace("%%", "%")
                try:
                    connection.execute(explained.encode())
                except InsufficientPrivilege:
                    refused[name].add(f"fairlead_{role}")
                except psycopg.errors.SyntaxError:  # it is not one without its parameters
                    pass
    assert sum(map(len, refused.values())) > 2 * len(refused)  # most are for few
    for name, roles in refused.items():
        named = who_may(statements("postgresql")[name])
        assert named, name
        assert roles.isdisjoint(named), name


IDS_OF_ENDS = (
    "SELECT handle FROM fairlead.endpoints",
    "SELECT * FROM fairlead.endpoints",
    "SELECT e FROM fairlead.endpoints e",
    "SELECT 1 FROM fairlead.endpoints WHERE handle LIKE '0%'",
    "SELECT id FROM fairlead.endpoints ORDER BY handle",
    "COPY (SELECT handle FROM fairlead.endpoints) TO STDOUT",
)
READABLE = (
    "SELECT c.relname, string_agg(quote_ident(a.attname), ', ') FROM pg_class c "
    "JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped "
    "WHERE c.relnamespace = 'fairlead'::regnamespace AND c.relkind IN ('r', 'v', 'p') "
    "AND has_column_privilege(c.oid, a.attnum, 'SELECT') GROUP BY c.relname"
)


@pytest.mark.parametrize("role", ["sender", "chooser", "viewer", "nobody"])
def test_nobody_below_a_worker_reads_the_id_of_an_end(
    role: str, url_of: UrlOf, owner: psycopg.Connection[Any]
) -> None:
    begun = "SELECT fairlead.begin_dialog('Client', 'Shop') FROM generate_series(1, 2)"
    (mine,), (other,) = owner.execute(begun).fetchall()
    owner.execute("SELECT fairlead.send_on(%s, 'Order', '1'::jsonb)", [mine])
    owner.execute("SELECT fairlead.bind_dialogs(%s, %s)", [mine, other])
    ids = {handle for (handle,) in owner.execute("SELECT handle FROM fairlead.endpoints")}
    assert {mine, other} < ids
    with psycopg.connect(url_of(role), autocommit=True) as connection:
        for query in IDS_OF_ENDS:
            with pytest.raises(InsufficientPrivilege):
                connection.execute(query.encode())
        for relation, columns in connection.execute(READABLE).fetchall():
            rows = connection.execute(f"SELECT {columns} FROM fairlead.{relation}".encode())  # noqa: S608 - of the catalog
            found = {str(value) for row in rows for value in row}
            assert not {each for each in ids if any(each in value for value in found)}, relation


SPY = (
    "CREATE FUNCTION pg_temp.spy() RETURNS boolean LANGUAGE plpgsql AS $$ BEGIN "
    "IF current_user <> session_user THEN RAISE EXCEPTION 'runs as %', current_user; END IF; "
    "RETURN true; END $$"
)
NAMES = ("record", "text", "int8", "int4", "bool", "bytea", "jsonb", "json", "numeric", "xid8")
FUNCTIONS = (
    "length(text)",
    "coalesce_(text)",
    "nullif_(text)",
    "format(text, text)",
    "octet_length(bytea)",
    "convert_to(text, text)",
    "sum(int8)",
    "clock_timestamp()",
    "gen_random_uuid()",
)
TABLES = ("queues", "groups", "messages", "endpoints", "journal", "declared", "schema", "pg_roles")


@pytest.mark.parametrize("role", ROLES[:3])
def test_nothing_of_the_callers_own_runs_as_the_owner(
    role: str, url_of: UrlOf, owner: psycopg.Connection[Any]
) -> None:
    owner.execute(f"GRANT TEMPORARY ON DATABASE {owner.info.dbname} TO PUBLIC".encode())
    with psycopg.connect(url_of(role), autocommit=True) as mine:
        mine.execute(SPY)
        for name in NAMES:
            mine.execute(
                f"CREATE DOMAIN pg_temp.{name}_ AS pg_catalog.int8 CHECK (pg_temp.spy())".encode()
            )
            mine.execute(f"ALTER DOMAIN pg_temp.{name}_ RENAME TO {name}".encode())
        for signature in FUNCTIONS:
            name, _, arguments = signature.rstrip(")").partition("(")
            typed = ", ".join(f"pg_catalog.{each.strip()}" for each in arguments.split(",") if each)
            mine.execute(
                f"CREATE FUNCTION pg_temp.{name}({typed}) RETURNS pg_catalog.bool LANGUAGE sql "
                "AS 'SELECT pg_temp.spy()'".encode()
            )
        for table in TABLES:
            columns = "(id pg_catalog.int8, name pg_catalog.text)"
            mine.execute(f"CREATE TEMP TABLE {table} {columns}".encode())
        mine.execute("SET search_path = pg_temp, fairlead, pg_catalog")
        for least, call in SQL.values():
            text = re.sub(r"::(text|jsonb)", r"::pg_catalog.\1", call)
            owner.execute("SELECT fairlead.send('orders', 'o')")  # there is something to take
            if least in ROLES[: ROLES.index(role) + 1]:
                mine.execute(text.encode()).fetchall()
            else:
                with pytest.raises(InsufficientPrivilege):
                    mine.execute(text.encode())


def test_the_journal_says_who_was_logged_in_whoever_he_says_he_is(
    url_of: UrlOf, owner: psycopg.Connection[Any]
) -> None:
    send = (
        "SELECT * FROM fairlead._try_send('orders', 1, 'o', NULL, NULL, %s, NULL, NULL, 1, NULL, "
        "NULL, %s)"
    )
    with psycopg.connect(url_of("sender"), autocommit=True) as mine:
        mine.execute(send, ["forged-1", "the boss"])
        mine.execute("SET ROLE fairlead_sender")
        mine.execute(send, ["forged-2", "postgres"])
        with pytest.raises(psycopg.Error):
            mine.execute("SET SESSION AUTHORIZATION postgres")
        with pytest.raises(InsufficientPrivilege):
            mine.execute("SET ROLE postgres")
    with Store.open(url_of("sender")) as store:
        store.send("orders", "o", id="forged-3")
    asked = "SELECT id, actor, login FROM fairlead.events WHERE id LIKE 'forged-%' ORDER BY id"
    first, second, third = owner.execute(asked).fetchall()
    assert (first, second) == (
        ("forged-1", "the boss", "sender_user"),
        ("forged-2", "postgres", "sender_user"),
    )
    assert third[2] == "sender_user"
    with Store.open(url_of("viewer")) as store:
        (told,) = store.journal(id="forged-1")
        assert (told.actor, told.login) == ("the boss", "sender_user")


EVENT = (
    "SELECT fairlead._run_add_event(%(id)s, %(time)s, %(kind)s, '', '', '', NULL, 'the boss', "
    "NULL, 'Bangkok', 1, 'Bangkok', 'DEV1', NULL, 'routed', 7, NULL)"
)
EVENTS = (
    "SELECT fairlead._run_add_journal(%(time)s, 'orders', 'the boss', ARRAY[%(id)s::bigint], "
    "ARRAY[%(kind)s], '{kim}', ARRAY['k'], '{small}', '{NULL}', '{1}', '{NULL}', '{1}', '{5}', "
    "'{NULL}', '{NULL}')"
)


@pytest.mark.parametrize("role", ["chooser", "worker", "operator"])
def test_an_event_that_the_library_writes_says_who_was_logged_in(
    role: str, url_of: UrlOf, owner: psycopg.Connection[Any]
) -> None:
    now = owner.execute("SELECT fairlead._now()").fetchone()
    assert now is not None
    fine = {"id": None, "time": now[0], "kind": "taken"}
    ahead = {"time": now[0] + 2 * 3600 * 10**6}, {"id": 10**17}
    before = owner.execute("SELECT max(id) FROM fairlead.journal").fetchone()
    with psycopg.connect(url_of(role), autocommit=True) as mine:
        for call in (EVENT, EVENTS)[: 1 if role == "chooser" else 2]:
            mine.execute(call.encode(), fine)
            for wrong in ahead:
                with pytest.raises(psycopg.Error) as refused:
                    mine.execute(call.encode(), fine | wrong)
                assert refused.value.sqlstate == "FL001"
            if role != "operator":
                for kind in (
                    "discarded",
                    "schedule-paused",
                    "schedule-resumed",
                    "schedule-dropped",
                ):
                    with pytest.raises(InsufficientPrivilege):
                        mine.execute(call.encode(), fine | {"kind": kind})
    asked = "SELECT DISTINCT login FROM fairlead.events WHERE actor = 'the boss' AND position > %s"
    assert owner.execute(asked, before).fetchall() == [(f"{role}_user",)]


def test_what_nobody_has_taken_nobody_can_drop_or_bury(
    url_of: UrlOf, owner: psycopg.Connection[Any]
) -> None:
    with Store.open(url_of("sender")) as store:
        key = store.send("untaken", "o", group="kim", id="kept")
        store.send("own", "o", group="mine")
    row = owner.execute("SELECT id, group_id FROM fairlead.messages WHERE key = %s", [key])
    message, group = row.fetchone() or (0, 0)
    with psycopg.connect(url_of("worker"), autocommit=True) as mine:
        mine.execute("SELECT fairlead._run_drop_messages(ARRAY[%s])", [message])
        mine.execute(
            "SELECT fairlead._take_back(ARRAY[%s], ARRAY[0], 'why', 'error', '{}', 'a')", [group]
        )
        for kind in ("accepted", "rejected", "released"):
            end = {"id": group, "token": 0, "kind": kind, "given": [message], "keep": False}
            with pytest.raises(psycopg.Error, match="work with token 0: found that it is not"):
                mine.execute(
                    "SELECT fairlead._settle_all('{}', '{}', '{}', %s, 'a')", [json.dumps([end])]
                )
        take = "SELECT * FROM fairlead._take('untaken', NULL, NULL, 1, 10, 'a', NULL, 1)"
        with pytest.raises(psycopg.Error, match="lease: found NULL"):
            mine.execute(take.encode())
        own = "SELECT token FROM fairlead.take('own')"
        ((token,),) = mine.execute(own.encode()).fetchall()
        settle = "SELECT fairlead._settle_all(ARRAY[%s], %s::bigint[], ARRAY[%s], '[]', 'a')"
        for tokens in ([], [None], [0], [token]):
            with pytest.raises(psycopg.Error, match="that it is not this reader's any more"):
                mine.execute(settle.encode(), (group, tokens, message))
    with Store.open(url_of("worker")) as store:
        assert store.dead("untaken") == []
        work = store.take("untaken")
        assert work is not None
        assert [each.id for each in work] == ["kept"]
        work.accept()


def test_an_end_opens_to_who_knows_its_id_and_to_nobody_else(
    url_of: UrlOf, owner: psycopg.Connection[Any]
) -> None:
    with Store.open(url_of("sender")) as store:
        dialog = store.begin_dialog("Client", "Shop")
        dialog.send("Order", {"item": "lamp"})
    asked = (
        "SELECT id, handle, dialog FROM fairlead.endpoints WHERE side = 0 ORDER BY id DESC LIMIT 1"
    )
    row = owner.execute(asked).fetchone()
    assert row is not None
    with psycopg.connect(url_of("sender"), autocommit=True) as mine:
        with pytest.raises(InsufficientPrivilege):
            mine.execute("SELECT handle FROM fairlead.endpoints")
        for guess in (row[0], row[2], f"d-{row[2]}", row[1].upper(), row[1][:-1], "%"):
            with pytest.raises(psycopg.Error) as refused:
                mine.execute("SELECT fairlead.send_on(%s, 'Order', '1'::jsonb)", [str(guess)])
            assert refused.value.sqlstate == "FL008"
        mine.execute("SELECT fairlead.send_on(%s, 'Order', '1'::jsonb)", [row[1]])
