"""Every argument of every function of plain SQL works, or is refused in one line."""

from pathlib import Path
from typing import Any, Final

import psycopg
import pytest

from fairlead import Cluster, Store
from fairlead.errors import FairleadError
from tests.stores import made_url

DIALOGS: Final = Path(__file__).parents[2] / "docs" / "snippets" / "dialogs.toml"
BIG: Final = 2**63 - 1
LONG: Final = "x" * 501
HOSTILE: Final[dict[str, tuple[Any, ...]]] = {
    "text": (None, "", LONG),
    "bytea": (None, b""),
    "jsonb": (None, "null", "{}"),
    "integer": (None, 0, -1, 2**31 - 1, -(2**31)),
    "bigint": (None, 0, -1, 2**31, BIG, -(2**63)),
    "boolean": (None, True, False),
    "bigint[]": (None, [], [None], [0, -1, BIG]),
    "interval": (None, "0", "-1 second", "178000000 years", "infinity", "-infinity"),
}
"""Type -> values that a caller may give by mistake."""
NO_TIME: Final = ("-1 second", "178000000 years", "infinity", "-infinity")
NO_COUNT: Final = (None, 0, -1, -(2**31))
REFUSED: Final[dict[str, tuple[Any, ...]]] = {
    **dict.fromkeys(("send.queue", "prioritise.queue"), (None, "", LONG)),
    "take.queue": (None, "", LONG),
    **dict.fromkeys(
        ("publish.cluster", "next_destination.cluster", "change.cluster", "reset.cluster"),
        (None, "", LONG),
    ),
    **dict.fromkeys(("send.body", "publish.body"), (None,)),
    **dict.fromkeys(("send.priority", "publish.priority"), (-1, 2**31 - 1, -(2**31))),
    "prioritise.priority": (-1, 2**31 - 1, -(2**31)),
    **dict.fromkeys(("send.cost", "publish.cost"), (None, 0, -1, BIG, -(2**63))),
    **dict.fromkeys(("send.delay", "publish.delay"), NO_TIME),
    **dict.fromkeys(("send.expires", "publish.expires"), ("0", *NO_TIME)),
    **dict.fromkeys(("send.group", "send.id", "send.type", "send.tenant"), (LONG,)),
    **dict.fromkeys(("publish.group", "publish.id", "publish.type", "publish.tenant"), (LONG,)),
    "take.lease": (None, "0", *NO_TIME),
    "take.most": NO_COUNT,
    "more.token": HOSTILE["bigint"],
    "more.given": (None, [None]),
    "more.most": NO_COUNT,
    "settle.token": HOSTILE["bigint"],
    "settle.outcome": HOSTILE["text"],
    "settle.given": (None, [], [None]),
    "settle.delay": NO_TIME,
    **dict.fromkeys(
        ("begin_dialog.service", "begin_dialog.far_service", "send_on.type"), (None, "", LONG)
    ),
    **dict.fromkeys(("begin_dialog.contract", "begin_dialog.related"), ("", LONG)),
    "begin_dialog.group": (LONG,),
    "begin_dialog.lifetime": ("0", *NO_TIME),
    **dict.fromkeys(
        ("send_on.dialog", "end_dialog.dialog", "prioritise_dialog.dialog"), HOSTILE["text"]
    ),
    **dict.fromkeys(
        ("bind_dialogs.dialog", "bind_dialogs.other", "bound_dialog.dialog"), HOSTILE["text"]
    ),
    "send_on.body": (None,),
    "receive.queue": (None, "", LONG),
    "receive.lease": (None, "0", *NO_TIME),
    "receive.most": NO_COUNT,
    "delayed_by.queue": (None, "", LONG),
    "place_of.queue": (None, "", LONG),
    "delayed_by.priority": (-1, 2**31 - 1, -(2**31)),
    "delayed_by.most": NO_COUNT,
    "delayed_by_dialog.dialog": HOSTILE["text"],
    "delayed_by_dialog.priority": (-1, 2**31 - 1, -(2**31)),
    "delayed_by_dialog.most": NO_COUNT,
    "end_dialog.code": (0, -1, -(2**31)),
    "end_dialog.description": ("", LONG),
    "end_dialog.cleanup": (None,),
    "prioritise_dialog.priority": (-1, 2**31 - 1, -(2**31)),
    "change.target": HOSTILE["text"],
    "change.attribute": HOSTILE["text"],
    "change.value": HOSTILE["text"],
}
"""Function and argument -> the values that are refused; all others work."""
USUAL: Final = {
    "queue": "'q'",
    "body": "'1'",
    "cluster": "'pool'",
    "target": "'a'",
    "attribute": "'weight'",
    "value": "'2'",
    "token": "{token}",
    "given": "'{{{number}}}'",
    "group": "'g'",
    "service": "'Client'",
    "far_service": "'Shop'",
    "dialog": "'{dialog}'",
    "other": "'{dialog}'",
    "type": "'Order'",
}
"""The arguments without a default."""


@pytest.fixture(scope="module")
def server() -> Any:
    url = made_url("postgresql")
    with Store.open(url) as store:
        pool = [{"name": "a"}, {"name": "b"}]
        store.keep_clusters([Cluster.of("weighted", name="pool", destination=pool)])
        store.send("q", "body", group="g")
        store.send("q", "body", group="held")
        work = store.take("q", group="held")
        assert work is not None
        store.declare(DIALOGS)
        dialog = store.begin_dialog("Client", "Shop")
        with psycopg.connect(url, autocommit=True) as connection:
            (message,) = work.held.messages
            ours = {"token": work.token, "number": message.number, "dialog": dialog.id}
            yield connection, ours, store


def signatures(connection: psycopg.Connection[Any]) -> list[tuple[str, list[str], list[str], int]]:
    """The public functions: name, arguments that go in, their types, how many have no default."""
    rows = connection.execute(
        "SELECT p.proname, p.proargnames[:p.pronargs], "
        "ARRAY (SELECT format_type(t.id, NULL) FROM unnest(p.proargtypes) WITH ORDINALITY "
        "  AS t (id, place) ORDER BY t.place), p.pronargs - p.pronargdefaults "
        "FROM pg_proc p WHERE p.pronamespace = 'fairlead'::regnamespace "
        "AND p.proname !~ '^_' ORDER BY p.proname, p.oid"
    )
    return rows.fetchall()


def test_every_argument_works_or_is_refused_in_one_line(server: Any) -> None:
    connection, ours, store = server
    connection.execute("SET statement_timeout = '20s'")  # nothing goes on for ever
    tried, wrong = set(), []
    for function, names, types, required in signatures(connection):
        for name, kind in zip(names, types, strict=True):
            tried.add(f"{function}.{name}")
            usual = [
                f'"{each}" => {USUAL[each].format(**ours)}::{type_}'
                for place, (each, type_) in enumerate(zip(names, types, strict=True))
                if (place < required or each == "given") and each != name
            ]
            parts = ", ".join([*usual, f'"{name}" => %s::{kind}'])
            for value in HOSTILE[kind]:
                found = outcome(connection, f"SELECT fairlead.{function}({parts})", [value])
                refused = value in REFUSED.get(f"{function}.{name}", ())
                if found != ("refused" if refused else "works"):
                    wrong.append((function, name, kind, str(value)[:20], found))
    assert not wrong, "\n".join(map(str, wrong))
    assert set(REFUSED) <= tried
    assert store.check() == []


def outcome(connection: psycopg.Connection[Any], text: str, values: list[Any]) -> str:
    """works, refused, or what else came of it; undone in any case."""
    try:
        with connection.transaction(force_rollback=True):
            connection.execute(text.encode(), values or None).fetchall()
            lasting = connection.execute(
                "SELECT count(*) FROM fairlead.groups WHERE state = 2 AND deadline IS NULL"
            ).fetchone()
            return "works" if lasting == (0,) else "work without a deadline"
    except psycopg.Error as error:
        state = error.sqlstate or ""
        one_line = len(str(error.diag.message_primary).splitlines()) == 1
        known = state in {"FL001", "FL003", "FL005", "FL008"}
        return "refused" if known and one_line else f"{state} {error.diag.message_primary}"


NUMBERS: Final = (None, 0, -1, 256, 2**63, float("nan"), float("inf"), float("-inf"), "", "1")
NO_SECONDS: Final = (None, -1, 2**63, *NUMBERS[5:])
NO_LENGTH: Final = (*NO_SECONDS, 0)
NO_NUMBER: Final = (None, 0, -1, *NUMBERS[4:])
VERBS: Final[dict[str, tuple[Any, tuple[Any, ...]]]] = {
    "take lease": (lambda store, it: store.take("q", lease=it), NO_LENGTH),
    "take wait": (lambda store, it: store.take("q", it, group="no"), NO_SECONDS),
    "take_many": (lambda store, it: store.take_many("q", it), NO_NUMBER),
    "send priority": (lambda store, it: store.send("q", 1, priority=it), (-1, *NUMBERS[3:])),
    "send cost": (lambda store, it: store.send("q", 1, cost=it), NO_NUMBER),
    "send expires": (lambda store, it: store.send("q", 1, expires=it), (0, -1, *NUMBERS[4:])),
    "send delay": (lambda store, it: store.send("q", 1, delay=it), (-1, *NUMBERS[4:-2])),
    "prioritise": (lambda store, it: store.prioritise("q", "g", it), (-1, *NUMBERS[3:])),
    "prune": (lambda store, it: store.prune(it), NO_SECONDS),
    "outcome": (lambda store, it: store.outcome(it), (None, -1, *NUMBERS[4:])),
    "dead": (lambda store, it: list(store.dead("q", it)), NO_NUMBER),
    "waiting": (lambda store, it: store.waiting("q", it), (None, -1, *NUMBERS[4:])),
    "peek": (lambda store, it: store.peek("q", None, it), NO_NUMBER),
}


@pytest.mark.parametrize("dialect", ["sqlite", "postgresql"])
@pytest.mark.parametrize("verb", VERBS)
def test_every_number_works_or_is_refused_in_python(dialect: str, verb: str) -> None:
    ask, refused = VERBS[verb]
    with Store.open(made_url(dialect)) as store:
        store.send("q", "body", group="g")
        wrong = []
        for value in NUMBERS:
            if value == 256 and verb == "take wait":
                continue  # it works, and takes so long
            try:
                ask(store, value)
                found = False
            except FairleadError as error:
                found = len(str(error).splitlines()) == 1
            if found != any(value is each or value == each for each in refused):
                wrong.append((value, "was refused" if found else "worked"))
        assert not wrong
        assert store.check() == []
