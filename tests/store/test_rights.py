"""Who may only send can do nothing but send, whatever he makes, says or sets.

Nor can he do it in another's name.
"""

import re
from collections.abc import Iterator
from typing import Any

import psycopg
import pytest
from psycopg.errors import InsufficientPrivilege

from fairlead import Store
from tests.store.roles import ROLES, UrlOf, store_with_roles
from tests.store.test_roles_by_verb import SQL


@pytest.fixture(scope="module")
def url_of() -> UrlOf:
    return store_with_roles()


@pytest.fixture
def owner(url_of: UrlOf) -> Iterator[psycopg.Connection[Any]]:
    with psycopg.connect(url_of("owner"), autocommit=True) as found:
        yield found


@pytest.mark.parametrize("role", ["sender", "viewer", "nobody"])
def test_a_role_has_no_right_to_write_any_table(role: str, owner: psycopg.Connection[Any]) -> None:
    asked = (
        "SELECT c.relname FROM pg_class c WHERE c.relnamespace = 'fairlead'::regnamespace "
        "AND c.relkind IN ('r', 'v', 'S', 'p') AND (CASE WHEN c.relkind = 'S' "
        "THEN has_sequence_privilege(%(user)s, c.oid, 'USAGE, UPDATE') ELSE "
        "has_any_column_privilege(%(user)s, c.oid, 'INSERT, UPDATE, REFERENCES') OR "
        "has_table_privilege(%(user)s, c.oid, 'INSERT, UPDATE, DELETE, TRUNCATE, TRIGGER') END)"
    )
    assert owner.execute(asked, {"user": f"{role}_user"}).fetchall() == []


def test_a_function_is_nobodys_but_those_roles_that_are_granted_it(
    owner: psycopg.Connection[Any],
) -> None:
    asked = (
        "SELECT p.proname, p.prosecdef, ARRAY (SELECT r FROM unnest(%s::text[]) r "
        "WHERE has_function_privilege(r || '_user', p.oid, 'EXECUTE')) "
        "FROM pg_proc p WHERE p.pronamespace = 'fairlead'::regnamespace"
    )
    rows = owner.execute(asked, [[*ROLES, "viewer", "nobody"]]).fetchall()
    assert not [name for name, _, roles in rows if "nobody" in roles]
    assert {name for name, _, roles in rows if "viewer" in roles} == {
        *("_find", "_find_bound", "_state")
    }
    of_sender = {name: definer for name, definer, roles in rows if "sender" in roles}
    assert all(of_sender.values()), of_sender
    assert {name for name in of_sender if not name.startswith("_")} == {
        name for name, (least, _) in SQL.items() if least == "sender"
    }


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


@pytest.mark.parametrize("role", ["chooser", "worker", "operator"])
def test_who_may_write_events_cannot_write_who_was_logged_in(role: str, url_of: UrlOf) -> None:
    insert = (
        "INSERT INTO fairlead.journal (time, kind, queue, group_name, key, tenant, actor{}) "
        "VALUES (0, 'sent', 'q', '', '', '', 'me'{})"
    )
    with psycopg.connect(url_of(role), autocommit=True) as mine:
        for more in (("", ""), (", login", ", 'you'"), (", transaction", ", '1'")):
            if more[0]:
                with pytest.raises(InsufficientPrivilege):
                    mine.execute(insert.format(*more).encode())
            else:
                mine.execute(insert.format(*more).encode())
        with pytest.raises(InsufficientPrivilege):
            mine.execute("UPDATE fairlead.journal SET login = 'you'")


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
