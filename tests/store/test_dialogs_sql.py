"""Plain SQL and the library talk to each other in one dialog."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest

from fairlead import Store
from fairlead.errors import ConversationError
from tests.stores import made_url

Open = Callable[..., Store]
DECLARED = """
[[queue]]
name = "client"
max_waiting = 2

[[message_type]]
name = "Order"
validation = "json"
schema = { type = "object" }
[[message_type]]
name = "Note"
validation = "xml"
[[message_type]]
name = "Reply"

[[contract]]
name = "Orders"
initiator = ["Order", "Note"]
target = ["Reply"]
[[contract]]
name = "Unwanted"
any = ["Note"]

[[service]]
name = "Shop"
queue = "shop"
contracts = ["Orders"]
[[service]]
name = "Client"
queue = "client"
"""
TABLES = ("endpoints", "messages", "delayed", "groups", "journal", "pending_updates", "queues")


@pytest.fixture
def url() -> str:
    return made_url("postgresql")


@pytest.fixture
def store(url: str, opened: Open, tmp_path: Path) -> Store:
    (tmp_path / "shop.toml").write_text(DECLARED)
    found = opened(url)
    found.declare(tmp_path / "shop.toml")
    return found


@pytest.fixture
def sql(url: str, store: Store) -> Iterator[psycopg.Connection[Any]]:
    del store
    with psycopg.connect(url, autocommit=True) as found:
        yield found


def one(sql: psycopg.Connection[Any], text: str, *values: object) -> Any:
    row = sql.execute(text.encode(), values or None).fetchone()
    return None if row is None else row[0]


def rows(sql: psycopg.Connection[Any]) -> list[Any]:
    asked = [f"SELECT * FROM fairlead.{each}" for each in TABLES]  # noqa: S608 - of this list
    return [sql.execute(each.encode()).fetchall() for each in asked]


def test_python_asks_and_sql_answers(store: Store, sql: psycopg.Connection[Any]) -> None:
    asked = store.begin_dialog("Client", "Shop")
    asked.send("Order", {"item": "lamp"})
    asked.send("Note", "<note>soon</note>")
    with sql.transaction():
        work = sql.execute(
            "SELECT conversation, type, body_text, token, number FROM fairlead.receive('shop')"
        ).fetchall()
        assert [row[1:3] for row in work] == [
            ("Order", '{"item":"lamp"}'),
            ("Note", "<note>soon</note>"),
        ]
        assert one(sql, "SELECT fairlead.send_on(%s, 'Reply', 'on its way')", work[0][0])
        one(sql, "SELECT fairlead.end_dialog(%s)", work[0][0])
        given = [row[4] for row in work]
        one(sql, "SELECT fairlead.settle(%s, given => %s)", work[0][3], given)
    answer = asked.take()
    assert answer is not None
    with answer:
        assert [(each.type, each.body) for each in answer] == [
            ("Reply", "on its way"),
            ("EndDialog", b""),
        ]
    assert asked.state == "ended-by-other"
    asked.end()
    assert store.conversations() == []


def test_sql_asks_and_python_answers(store: Store, sql: psycopg.Connection[Any]) -> None:
    dialog = one(sql, "SELECT fairlead.begin_dialog('Client', 'Shop')")
    one(sql, "SELECT fairlead.send_on(%s, 'Note', '<note>now</note>'::text)", dialog)
    assert one(sql, "SELECT fairlead.prioritise_dialog(%s, 200)", dialog)
    work = store.take("shop")
    assert work is not None
    assert work.priority == 200
    with work.transaction() as tx:
        for message in work:
            tx.conversation(message.conversation or "").end((7, "no notes are taken"))
        tx.accept()
    asked = (
        "SELECT conversation, type, body_text::jsonb ->> 'description' "
        "FROM fairlead.receive('client')"
    )
    assert sql.execute(asked.encode()).fetchall() == [(dialog, "Error", "no notes are taken")]
    with pytest.raises(psycopg.Error) as refused:
        one(sql, "SELECT fairlead.send_on(%s, 'Note', '<note/>'::text)", dialog)
    assert refused.value.sqlstate == "FL008"
    mine = store.conversation(dialog)
    with pytest.raises(ConversationError):
        mine.send("Note", "<note/>")


@pytest.mark.parametrize(
    ("state", "text"),
    [
        ("FL009", "SELECT fairlead.send_on(%s, 'Order', '{}'::jsonb)"),
        ("FL009", "SELECT fairlead.send_on(%s, 'Note', '<\u00e9/>'::text)"),
        ("FL001", "SELECT fairlead.send_on(%s, 'Reply', 'x'::text)"),
        ("FL001", "SELECT fairlead.end_dialog(%s, 5, 'why', true)"),
        (
            "FL001",
            "SELECT fairlead.begin_dialog('Client', 'Shop', related => %s, \"group\" => 'g')",
        ),
        ("FL001", "SELECT fairlead.begin_dialog('Shop', 'Shop', related => %s)"),
        ("FL008", "SELECT fairlead.send_on(%s || '0', 'Note', '<note/>'::text)"),
    ],
)
def test_what_is_refused_has_changed_nothing(
    state: str, text: str, store: Store, sql: psycopg.Connection[Any]
) -> None:
    dialog = store.begin_dialog("Client", "Shop")
    dialog.send("Note", "<first/>")
    before = rows(sql)
    with pytest.raises(psycopg.Error) as refused:
        one(sql, text, dialog.id)
    assert refused.value.sqlstate == state
    assert len(str(refused.value.diag.message_primary).splitlines()) == 1
    assert rows(sql) == before


def test_a_body_that_its_type_refuses_breaks_off_the_conversation_as_in_python(
    store: Store, sql: psycopg.Connection[Any]
) -> None:
    dialog = one(sql, "SELECT fairlead.begin_dialog('Client', 'Shop')")
    assert one(sql, "SELECT fairlead.send_on(%s, 'Note', '<note>'::text)", dialog) is not None
    assert store.conversation(dialog).state == "failed"
    unwanted = one(sql, "SELECT fairlead.begin_dialog('Client', 'Shop', 'Unwanted')")
    one(sql, "SELECT fairlead.send_on(%s, 'Note', '<note/>'::text)", unwanted)
    codes = []
    while row := sql.execute(
        "SELECT token, number, body_text::jsonb ->> 'code', conversation "
        "FROM fairlead.receive('client')"
    ).fetchone():
        codes.append(row[2])
        one(sql, "SELECT fairlead.end_dialog(%s)", row[3])
        one(sql, "SELECT fairlead.settle(%s, given => ARRAY[%s::bigint])", row[0], row[1])
    assert codes == ["-9615", "-8408"]
    assert store.conversations() == []


def test_a_full_queue_refuses_what_is_said_but_no_end(
    store: Store, sql: psycopg.Connection[Any]
) -> None:
    near = store.begin_dialog("Client", "Shop")
    near.send("Note", "<note/>")
    far = one(sql, "SELECT conversation FROM fairlead.receive('shop')")
    for _ in range(2):
        one(sql, "SELECT fairlead.send_on(%s, 'Reply', 'x'::text)", far)
    with pytest.raises(psycopg.Error) as refused:
        one(sql, "SELECT fairlead.send_on(%s, 'Reply', 'x'::text)", far)
    assert refused.value.sqlstate == "FL002"
    one(sql, "SELECT fairlead.end_dialog(%s)", far)
    work = store.take("client")
    assert work is not None
    assert [message.type for message in work] == ["Reply", "Reply", "EndDialog"]


@pytest.mark.parametrize(
    ("call", "state", "line"),
    [
        ("receive('shpo')", "FL001", "queue: found 'shpo', allowed: one that there is"),
        ("more(99999, '{}')", "FL003", "work with token 99999: found that it is not this reader's"),
    ],
)
def test_what_is_misspelt_is_refused_and_does_not_look_empty(
    sql: psycopg.Connection[Any], call: str, state: str, line: str
) -> None:
    with pytest.raises(psycopg.Error, match=line) as refused:
        one(sql, f"SELECT fairlead.{call}")
    assert refused.value.sqlstate == state


def test_more_is_for_who_holds_the_group_and_has_no_rows_when_all_was_given(
    store: Store, sql: psycopg.Connection[Any]
) -> None:
    near = store.begin_dialog("Client", "Shop")
    near.send("Note", "<note/>")
    token, number = sql.execute("SELECT token, number FROM fairlead.receive('shop')").fetchall()[0]
    assert one(sql, "SELECT fairlead.more(%s, ARRAY[%s::bigint])", token, number) is None
    one(sql, "SELECT fairlead.settle(%s, given => ARRAY[%s::bigint])", token, number)
    with pytest.raises(psycopg.Error) as refused:
        one(sql, "SELECT fairlead.more(%s, '{}')", token)
    assert refused.value.sqlstate == "FL003"


def test_whom_a_raise_of_a_dialog_would_delay(store: Store, sql: psycopg.Connection[Any]) -> None:
    near = [store.begin_dialog("Client", "Shop") for _ in range(5)]
    silent = near.pop()
    for each, priority in zip(near, (None, 250, 100, None), strict=True):
        each.send("Note", "<note/>")
        if priority is not None:
            each.prioritise(priority)
    for each in near:
        for asked in (None, 0, 120, 255):
            delayed = sql.execute(
                "SELECT * FROM fairlead.delayed_by_dialog(%s, %s::integer)", [each.id, asked]
            ).fetchall()
            of_group = "SELECT * FROM fairlead.delayed_by('shop', %s, %s::integer)"
            assert delayed == sql.execute(of_group, [f"{each.dialog}/t", asked]).fetchall()
    last = f"{near[0].dialog}/t"
    asked_for = "SELECT in_group FROM fairlead.delayed_by_dialog(%s, 120)"
    assert one(sql, asked_for, near[3].id) == f"{near[2].dialog}/t"
    assert [name for (name,) in sql.execute(asked_for, [near[3].id])][-1] == last
    assert one(sql, asked_for, silent.id) is None
    for call, state in (
        ("SELECT fairlead.delayed_by_dialog('no end')", "FL008"),
        ("SELECT fairlead.delayed_by_dialog(%s, 256)", "FL001"),
    ):
        with pytest.raises(psycopg.Error) as refused:
            one(sql, call, *[silent.id][: call.count("%s")])
        assert refused.value.sqlstate == state
