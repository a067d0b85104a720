"""Nobody can put objects of his own in the way of the schema's functions."""

import psycopg
import pytest
from psycopg.errors import InsufficientPrivilege

from tests.store.roles import store_with_roles

SAFE = "search_path=pg_catalog, pg_temp"


def test_every_function_says_where_it_looks_for_names() -> None:
    asked = (
        "SELECT proname, proconfig, prosqlbody IS NOT NULL FROM pg_proc "
        "WHERE pronamespace = 'fairlead'::regnamespace"
    )
    with psycopg.connect(store_with_roles()("owner")) as connection:
        found = connection.execute(asked).fetchall()
    assert len(found) > 50
    unsafe = {name for name, said, parsed in found if not parsed and SAFE not in (said or [])}
    assert unsafe == set()


@pytest.mark.parametrize("role", ["sender", "worker", "operator"])
@pytest.mark.parametrize(
    "forget", ["_forget_events", "_forget_ids", "_forget_choice_runs", "_forget_ended"]
)
def test_what_is_done_with_the_owners_rights_runs_nothing_of_the_callers(
    role: str, forget: str
) -> None:
    url_of = store_with_roles()
    with psycopg.connect(url_of("owner"), autocommit=True) as owner:
        grant = f"GRANT TEMPORARY ON DATABASE {owner.info.dbname} TO PUBLIC"
        owner.execute(grant.encode())
        owner.execute("UPDATE fairlead.journal SET time = 0")
    with psycopg.connect(url_of(role), autocommit=True) as mine:
        mine.execute(
            "CREATE FUNCTION pg_temp.spy(v bigint) RETURNS boolean LANGUAGE plpgsql AS $$ "
            "BEGIN IF current_user <> session_user THEN "
            "RAISE EXCEPTION 'runs as %', current_user; END IF; RETURN true; END $$"
        )
        for name in ("record", "int8", "int4", "text", "jsonb", "xid8", "bool"):
            mine.execute(
                f"CREATE DOMAIN pg_temp.{name}_ AS bigint CHECK (pg_temp.spy(VALUE))".encode()
            )
            mine.execute(f"ALTER DOMAIN pg_temp.{name}_ RENAME TO {name}".encode())
        mine.execute("DROP DOMAIN pg_temp.record")
        mine.execute("CREATE DOMAIN pg_temp.dom AS pg_catalog.int8 CHECK (pg_temp.spy(VALUE))")
        mine.execute("CREATE TEMP TABLE record (transaction pg_catalog.xid8, id pg_temp.dom)")
        arguments = "10" if forget == "_forget_ended" else "9223372036854775807, 10"
        call = f"SELECT * FROM fairlead.{forget}({arguments})"  # noqa: S608 - of this list
        mine.execute(call.encode()).fetchall()


def test_a_clock_of_the_sessions_own_is_for_the_owner() -> None:
    url_of = store_with_roles()
    clock = "SELECT set_config('fairlead.clock', '7258118400000000', false)"  # in 2200
    with psycopg.connect(url_of("sender"), autocommit=True) as mine:
        mine.execute(clock)
        with pytest.raises(psycopg.Error, match=r"fairlead\.clock: .*'sender_user', allowed") as no:
            mine.execute("SELECT fairlead.send('orders', 'o'::text)")
        assert no.value.sqlstate == "FL001"
    with psycopg.connect(url_of("owner")) as owner:
        owner.execute(clock)
        owner.execute("SELECT fairlead.send('orders', 'o'::text)")


def test_nobody_without_a_role_calls_anything() -> None:
    url = store_with_roles()("nobody")
    with psycopg.connect(url) as mine, pytest.raises(InsufficientPrivilege):
        mine.execute("SELECT fairlead.send('orders', 'o'::text)")
