"""Each function of the schema, called by each role with what no program of good will gives it.

What a role may do to the queues and clusters that it works in is another matter: no call may run
for ever, take a server's process with it, or leave a store in which others fail.
"""

from collections.abc import Callable, Iterator
from contextlib import nullcontext, suppress
from typing import Any, Final

import psycopg
import pytest

from fairlead import Store
from fairlead.errors import FairleadError, MessageError, StoreError
from fairlead.store.queues.bodies import BYTES, Envelope
from tests.store.roles import UrlOf, store_with_roles

Open = Callable[..., Store]
LONG: Final = "repeat('x', 3000000)"
HOSTILE: Final[dict[str, dict[str, str]]] = {
    # kind of call: type of an argument: what it gets; NULL, where a type is not listed
    "nothing": {},
    "empty": {
        **dict.fromkeys(("bigint", "integer"), "0"),
        **dict.fromkeys(("text", "bytea"), "''"),
        "interval": "'0'",
        "boolean": "false",
        "jsonb": "'{}'",
        **dict.fromkeys(("bigint[]", "integer[]", "text[]"), "'{}'"),
    },
    "huge": {
        "bigint": "9223372036854775807",
        "integer": "2147483647",
        "text": LONG,
        "bytea": f"convert_to({LONG}, 'UTF8')",
        "jsonb": f"to_jsonb({LONG})",
        "interval": "'170000000 years'",
        "boolean": "true",
        "bigint[]": "'{9223372036854775807}'",
        "integer[]": "'{2147483647}'",
        "text[]": f"ARRAY[{LONG}]",
    },
    "below": {
        "bigint": "'-9223372036854775808'",
        "integer": "'-2147483648'",
        "text": r"E'no json {\n\x1b[2J'",
        "bytea": r"'\xff00fe'",
        "jsonb": "'[null]'",
        "interval": "'-1 s'",
        "boolean": "true",
        "bigint[]": "'{NULL,-1}'",
        "integer[]": "'{-5}'",
        "text[]": "'{NULL,loaded}'",
    },
    "another's": {
        **dict.fromkeys(("bigint", "integer"), "1"),
        "text": "'fairlead:subscriptions'",
        "bytea": "'x'",
        "jsonb": "'{\"a\": {}}'",
        "interval": "'1 s'",
        "boolean": "false",
        "bigint[]": "'{1,1}'",
        "integer[]": "'{1}'",
        "text[]": "'{Bangkok}'",
    },
}
ASKED: Final = (
    "SELECT p.oid::regprocedure::text, p.oid::regproc::text, "
    "ARRAY (SELECT format_type(t, NULL) FROM unnest(p.proargtypes) t) "
    "FROM pg_proc p WHERE p.pronamespace = 'fairlead'::regnamespace AND p.prokind = 'f' "
    "AND p.prorettype <> 'trigger'::regtype "
    "AND has_function_privilege(session_user, p.oid, 'EXECUTE') ORDER BY 1"
)
NOW: Final = "(extract(epoch FROM clock_timestamp()) * 1000000)::bigint"
ADD: Final = (
    f"fairlead._run_add_event(NULL, {NOW}, '{{kind}}', '', '', '', NULL, 'x', '{{detail}}', "
    "'Bangkok', 1, '', NULL, NULL, NULL, NULL, %s)"
)
NEVER: Final = ("XX", "57", "53", "40", "08", "58")
"""Classes of errors that no argument may lead to: of the server itself, or that it took long."""


@pytest.fixture
def url_of() -> UrlOf:
    return store_with_roles()


def connected(url: str) -> psycopg.Connection[Any]:
    found = psycopg.connect(url, autocommit=True)
    found.execute("SET statement_timeout = '60s'")
    return found


def calls(role: psycopg.Connection[Any]) -> Iterator[tuple[str, str]]:
    for signature, name, types in role.execute(ASKED).fetchall():
        for kind, values in HOSTILE.items():
            given = ", ".join(f"{values.get(each, 'NULL')}::{each}" for each in types)
            yield f"{signature}, {kind}", f"SELECT * FROM {name}({given})"  # noqa: S608


@pytest.mark.costly
@pytest.mark.parametrize("role", ["viewer", "sender", "chooser", "worker", "operator"])
def test_no_argument_leads_to_a_fault_of_the_server_or_to_a_store_that_fails(
    url_of: UrlOf, role: str, opened: Open
) -> None:
    owner = opened(url_of("owner"))
    owner.send("mine", "before", group="g", id="b")
    wrong = []
    with connected(url_of(role)) as caller:
        for what, sql in calls(caller):
            try:
                caller.execute(sql.encode())
            except psycopg.Error as error:
                if error.sqlstate is None or error.sqlstate.startswith(NEVER):
                    wrong.append((what, error.sqlstate, str(error)[:200]))
    assert not wrong
    if role == "operator":  # who may delete and undo everything
        return
    owner.send("mine", "after", group="g")
    work = owner.take("mine")
    assert work is not None
    assert [each.body for each in work] == ["before", "after"]
    work.accept()
    harms = role in {"chooser", "worker"}  # who write clusters that only the library knows
    with suppress(FairleadError) if harms else nullcontext():
        assert owner.next_destination("Bangkok").outcome == "routed"
        owner.publish("Bangkok", "x")
    assert list(owner.journal())
    assert "" not in {each.queue for each in owner.queues()}
    with connected(url_of("owner")) as plain:
        decided = plain.execute("SELECT id FROM fairlead.journal WHERE kind = 'decided'").fetchall()
    for (number,) in decided:
        with suppress(FairleadError) if harms else nullcontext():
            assert owner.decision(number).outcome in {"routed", "control"}


def test_a_sender_forges_no_decision_and_no_name_of_megabytes(url_of: UrlOf) -> None:
    choose = "SELECT o_number FROM fairlead._choose('Bangkok', %s, %s, NULL, %s, %s)"
    with connected(url_of("sender")) as sender:
        deep = '{"x": ' + "[" * 5000 + "]" * 5000 + "}"
        for said in (
            "not json{",
            '{"x": [1',
            "[]",
            "null",
            '"text"',
            '{"x": "' + "a" * 2**20,
            deep,
        ):
            with pytest.raises(psycopg.Error) as refused:
                sender.execute(choose, (None, "k", said, "me"))
            assert refused.value.sqlstate == "FL001"
        long = "x" * 2001
        for given in ((long, "", None, "me"), ("", long, None, "me"), ("", "", None, long)):
            with pytest.raises(psycopg.Error) as refused:
                sender.execute(choose, given)
            assert refused.value.sqlstate == "FL001"
        with pytest.raises(psycopg.errors.CheckViolation):
            sender.execute(
                "SELECT fairlead._send('q', 0, 'x', NULL, NULL, NULL, NULL, NULL, 1, NULL, NULL, "
                "repeat('x', 5000000))"
            )
        assert sender.execute(choose, ("g", "k", '{"group": "g"}', "me")).fetchone() is not None


def test_a_sender_says_no_time_that_nobody_can_show(url_of: UrlOf, opened: Open) -> None:
    one = "SELECT fairlead._send('q', 0, 'x', NULL, NULL, NULL, NULL, NULL, 1, %s, %s, 'x')"
    many = (
        "SELECT o_state FROM fairlead._try_send_many('q', '{NULL}', '{NULL}', '{NULL}', '{NULL}', "
        "'{NULL}', '{1}', ARRAY[%s::bigint], ARRAY[%s::bigint], '{0}', 'x', '{1}', '{1}', 'x')"
    )
    with connected(url_of("sender")) as sender:
        for times in ((2**63 - 1, None), (4 * 10**18, -(2**63)), (None, 2**63 - 1)):
            with pytest.raises(psycopg.Error) as refused:
                sender.execute(one, times)
            assert refused.value.sqlstate == "FL001"
            assert sender.execute(many, times).fetchall() == [("FL001",)]
        sender.execute(one, (4 * 10**18, 4 * 10**18))
    with connected(url_of("viewer")) as viewer:
        (found,) = viewer.execute("SELECT due::text FROM fairlead.delayed_messages").fetchall()
        assert found[0].startswith("128")
    assert [each.until for each in opened(url_of("owner")).later("q")] == [4e12]


def test_a_sender_reads_decisions_and_not_why_messages_failed(url_of: UrlOf, opened: Open) -> None:
    owner, sender = opened(url_of("owner")), opened(url_of("sender"))
    decided = owner.next_destination("Bangkok", group="g").number
    owner.send("pay", "card 4111")
    work = owner.take("pay")
    assert work is not None
    assert [each.body for each in work] == ["card 4111"]
    work.reject("cannot read card 4111")
    assert sender.decision(decided).outcome == "routed"
    with connected(url_of("sender")) as plain:
        for column in ("detail", "said", "group_name", "*"):
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                plain.execute(f"SELECT {column} FROM fairlead.journal".encode())  # noqa: S608
        rows = plain.execute("SELECT kind, detail, said FROM fairlead._cluster_events").fetchall()
    assert "decided" in {kind for kind, *_ in rows}
    assert "4111" not in str(rows)


def test_a_sender_puts_nothing_where_servers_keep_what_is_their_own(
    url_of: UrlOf, opened: Open
) -> None:
    own = "fairlead:subscriptions"
    for kind in ("new", "there"):
        for role in ("sender", "chooser"):
            with (
                connected(url_of(role)) as plain,
                pytest.raises(psycopg.errors.InsufficientPrivilege),
            ):
                plain.execute("SELECT fairlead.send(%s, 'x')", [own])
            with pytest.raises(FairleadError):
                opened(url_of(role)).send(own, "x")
        if kind == "new":
            with connected(url_of("worker")) as plain:
                plain.execute("SELECT fairlead.send(%s, 'x')", [own])


def test_an_envelope_comes_from_a_server(url_of: UrlOf, opened: Open) -> None:
    """Who reads it there takes it for what a server has looked at."""
    found = Envelope(b"\x00Sp", BYTES, b"x")
    for role in ("sender", "chooser"):
        with opened(url_of(role)) as store:
            with pytest.raises(MessageError, match="as only servers give"):
                store.send("q", found)
            with pytest.raises(MessageError):
                store.send_many("q", [{"body": found}])
    assert opened(url_of("worker")).send("q", found)


def test_a_chooser_makes_no_queue_without_a_name(url_of: UrlOf) -> None:
    with connected(url_of("chooser")) as chooser:
        for name in ("", None, "x" * 501):
            with pytest.raises(psycopg.Error) as refused:
                chooser.execute("SELECT fairlead._run_add_queue(%s)", [name])
            assert refused.value.sqlstate == "FL001"


@pytest.mark.parametrize(
    "part",
    [None, "", "not json", "{}", "[5]", "null", "[" * 5000 + "]" * 5000],
    ids=["NULL", "empty", "no JSON", "an object", "a number", "null", "deep"],
)
def test_a_chooser_says_nothing_that_keeps_others_from_choosing(
    url_of: UrlOf, part: str | None, opened: Open
) -> None:
    every = (
        ("SELECT fairlead._run_add_completion(1, 1, %s, 1)", (part,)),
        (
            (
                "SELECT fairlead._run_add_published(1, 1, '{k}', '{1}', ARRAY[%s], '{1}', "
                "'{NULL}', '{0}')"
            ),
            (part,),
        ),
        (f"SELECT {ADD.format(kind='completed', detail='1')}", (part,)),
        (f"SELECT {ADD.format(kind='completed', detail='D1')}", ('["a"]',)),
        (f"SELECT {ADD.format(kind='decided', detail='')}", ("[5",)),
        (
            "SELECT fairlead._run_add_guaranteed(1, 1, 'k', 1, %s, 'some', 1, 1, 1)",
            (part and "[5]",),
        ),
    )
    with connected(url_of("chooser")) as chooser:
        for sql, given in every:
            with pytest.raises(psycopg.Error) as refused:
                chooser.execute(sql.encode(), given)
            assert refused.value.sqlstate == "FL001", sql
    assert opened(url_of("owner")).next_destination("Bangkok").outcome == "routed"


def test_a_worker_writes_no_event_ahead_of_the_clock(url_of: UrlOf, opened: Open) -> None:
    add = (
        f"SELECT fairlead._run_add_journal({NOW} + %s, 'q', 'x', "
        "'{NULL}', '{sent}', '{g}', '{k}', '{\"\"}', '{NULL}', '{1}', '{NULL}', "
        "'{NULL}', '{NULL}', '{NULL}', '{NULL}')"
    )
    with connected(url_of("worker")) as worker:
        for seconds in (3, 3540, 3600 * 24):
            with pytest.raises(psycopg.Error) as refused:
                worker.execute(add, [seconds * 10**6])
            assert refused.value.sqlstate == "FL001"
        worker.execute(add, [0])


def test_where_the_clock_was_put_back_time_stands_still_and_events_are_written(
    url_of: UrlOf, opened: Open
) -> None:
    with connected(url_of("owner")) as owner:
        owner.execute(
            "INSERT INTO fairlead.journal (time, kind, queue, group_name, key, tenant, actor) "  # noqa: S608
            f"VALUES ({NOW} + 600000000, 'sent', 'q', '', 'k', '', 'x')"
        )
    worker = opened(url_of("worker"))
    worker.send_many("q", [{"body": k, "group": f"g{k}"} for k in range(3)])
    works = worker.take_many("q", 3)
    assert len(works) == 3
    for each in works:
        each.accept()


@pytest.mark.parametrize("allocation", ["Bangkok", "tickets"])
def test_a_version_that_nothing_begins_is_refused_and_holds_up_nobody(
    url_of: UrlOf, opened: Open, allocation: str
) -> None:
    owner = opened(url_of("owner"))
    owner.next_destination(allocation)
    with connected(url_of("owner")) as connection:
        connection.execute(
            "UPDATE fairlead.clusters SET version = 99 WHERE name = %s", [allocation]
        )
    with connected(url_of("sender")) as sender, pytest.raises(psycopg.Error) as refused:  # noqa: PT012
        for _ in range(100_000):  # tickets of before are good
            sender.execute("SELECT * FROM fairlead.next_destination(%s)", [allocation])
    assert refused.value.sqlstate == "FL001"
    assert "load the cluster anew" in str(refused.value)
    with pytest.raises((MessageError, StoreError), match="load the cluster anew"):
        owner.next_destination(allocation)
