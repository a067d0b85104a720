"""`fairlead conversations` and its like: what they print, what they end, and what they refuse."""

import json
from pathlib import Path

import pytest
from tests.cli.shell import Shell
from tests.cli.test_store import typed

from fairlead.store.conversation import Conversation

SHOP = """
[[message_type]]
name = "Order"
[[message_type]]
name = "Confirmation"
[[message_type]]
name = "SetPriority"
[[contract]]
name = "Orders"
initiator = ["Order"]
target = ["Confirmation"]
any = ["SetPriority"]
[[contract]]
name = "Returns"
initiator = ["Order"]
[[service]]
name = "Client"
queue = "clients"
[[service]]
name = "Shop"
queue = "shop"
contracts = ["Orders", "Returns"]
max_readers = 3
"""

RENAME = "UPDATE fairlead.endpoints SET service = 'a\x1b[31mb' WHERE side = 0"


@pytest.fixture
def shop(shell: Shell, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Shell:
    """A store with two services, and a folder with their file."""
    monkeypatch.chdir(tmp_path)
    Path("shop.toml").write_text(SHOP)
    shell.ok("declare", "shop.toml")
    return shell


def begun(shop: Shell) -> Conversation:
    """A dialog in which one message was sent."""
    found = shop.store.begin_dialog("Client", "Shop", "Orders")
    found.send("Order", "a book")
    return found


def test_each_end_of_an_open_dialog_has_a_line(shop: Shell) -> None:
    assert shop.ok("conversations") == ""
    mine = begun(shop)
    mine.prioritise(200)
    header, near, far = shop.ok("conversations").splitlines()
    assert header.split() == ["end", "service", "state", "queue", "waits", "raised", "age"]
    assert near.split()[:4] == [f"{mine.dialog}/i", "Client", "conversing", "clients"]
    assert far.split() == [f"{mine.dialog}/t", "Shop", "conversing", "shop", "1", "200"]
    (row,) = shop.rows("conversations")
    assert (row["dialog"], row["contract"], row["lifetime"]) == (mine.dialog, "Orders", None)
    assert (row["initiator"]["state"], row["target"]["waiting"]) == ("conversing", 1)


def test_a_table_of_dialogs_fits_a_terminal(shop: Shell) -> None:
    for _ in range(3):
        begun(shop)
    shop.store.begin_dialog("Client", "Shop", "Returns", group="a group")
    shop.store.take("shop")
    assert all(len(line) <= 80 for line in shop.ok("conversations").splitlines())


def test_a_dialog_of_which_nobody_heard_has_no_target(shop: Shell) -> None:
    mine = shop.store.begin_dialog("Client", "Shop", "Orders")
    assert shop.ok("conversations").splitlines()[2].split() == [f"{mine.dialog}/t", "Shop"]
    assert shop.rows("conversations")[0]["target"] is None
    assert "target: nothing was said to Shop yet" in shop.ok("conversation", mine.dialog)
    assert shop.run("conversation", mine.dialog, "--end", "--side", "target") == 2
    assert "--side: found target, allowed: initiator" in shop.err


def test_dialogs_are_listed_by_service_and_by_page(shop: Shell) -> None:
    names = [begun(shop).dialog for _ in range(3)][::-1]
    cut = "only the latest 2 are shown"
    rows = shop.rows("conversations", "--service", "Shop", "--most", "2", said=cut)
    assert [row["dialog"] for row in rows] == names[:2]
    rows = shop.rows("conversations", "--before", names[1])
    assert [row["dialog"] for row in rows] == names[2:]


def test_a_dialog_is_shown_with_what_waits_and_why(shop: Shell) -> None:
    mine = begun(shop)
    mine.prioritise(200)
    lines = shop.ok("conversation", mine.dialog).splitlines()
    assert lines[0].startswith(f"{mine.dialog}: contract Orders, began 2")
    assert lines[1:4] == [
        "initiator: Client, conversing, 1 sent",
        f"  queue clients, group {mine.group}",
        "  nothing waits",
    ]
    assert lines[4:6] == [
        "target: Shop, conversing, 0 sent",
        f"  queue shop, group {mine.dialog}/t",
    ]
    assert lines[6].startswith(f"  group {mine.dialog}/t: raised to 200 by ")
    assert lines[6].endswith(" UTC, no group goes before it")
    assert lines[7:9] == ["  1 message:", "     id       type   age"]
    assert lines[9].split()[:2] == [f"{mine.dialog}/i/0", "Order"]
    (row,) = shop.rows("conversation", mine.dialog)
    assert row["target"]["messages"][0]["type"] == "Order"
    assert row["initiator"]["why"] == "nothing waits"


def test_ids_are_shown_when_they_are_asked_for(shop: Shell) -> None:
    mine = begun(shop)
    ids = {end.side: end.id for end in shop.store.ends(mine.dialog)}
    silent = shop.ok("conversations") + shop.ok("conversations", "--json")
    silent += shop.ok("conversation", mine.dialog) + shop.ok("conversation", mine.dialog, "--json")
    assert not any(id_ in silent for id_ in ids.values())
    shown = shop.ok("conversation", mine.dialog, "--ids")
    assert all(f"  id {id_}\n" in shown for id_ in ids.values())
    (row,) = shop.rows("conversation", mine.dialog, "--ids")
    assert {side: row[side]["id"] for side in ids} == ids


def test_an_operator_ends_a_dialog(shop: Shell) -> None:
    mine = begun(shop)
    name = mine.dialog
    said = shop.ok("conversation", name, "--end", "--yes")
    assert said == f"ended: {name}/i (Client) and {name}/t (Shop)\n"
    assert shop.ok("conversations") == ""
    assert shop.store.take("shop") is None
    assert shop.run("conversation", name, "--end", "--yes") == 2
    assert f"dialog: found '{name}', allowed: one that is open" in shop.err


def test_an_operator_ends_one_end_and_the_other_is_told(shop: Shell) -> None:
    mine = begun(shop)
    at_target = ("conversation", mine.dialog, "--end", "--side", "target")
    assert shop.ok(*at_target, "--error", "17", "--description", "closed") == (
        f"ended: {mine.dialog}/t (Shop)\n"
    )
    work = shop.store.take("clients")
    assert work is not None
    assert [(each.type, each.body) for each in work] == [
        ("Error", {"code": 17, "description": "closed"})
    ]
    work.accept()
    assert shop.run(*at_target) == 2
    assert f"conversation {mine.dialog}/t: it has ended" in shop.err
    shop.ok("conversation", mine.dialog, "--end")
    other = begun(shop)
    shop.ok("conversation", other.dialog, "--end", "--side", "target", "--cleanup")
    assert shop.store.take("clients") is None
    assert other.state == "ended-by-other"


def test_on_a_terminal_it_asks(shop: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    mine = begun(shop)
    typed(monkeypatch, "n\n")
    monkeypatch.setattr("sys.stdin.isatty", lambda: True, raising=False)
    assert shop.run("conversation", mine.dialog, "--end") == 0
    assert shop.out.strip() == "nothing was done"
    assert f"End {mine.dialog}/i (Client) and {mine.dialog}/t (Shop)?" in shop.err
    assert mine.state == "conversing"


def test_services_are_listed_with_what_each_side_may_send(shop: Shell) -> None:
    begun(shop)
    lines = shop.ok("services").splitlines()
    assert lines[0].split() == [
        *("service", "queue", "readers", "open", "contract"),
        *("initiator", "sends", "target", "sends"),
    ]
    assert lines[1].split() == ["Client", "clients", "1", "1"]
    assert lines[2].split() == [
        *("Shop", "shop", "3", "1", "Orders", "Order,", "SetPriority"),
        *("Confirmation,", "SetPriority"),
    ]
    assert lines[3].split() == ["Returns", "Order"]
    (_, row) = shop.rows("services")
    assert row["contracts"][0] == {
        "name": "Orders",
        "initiator": ["Order"],
        "target": ["Confirmation"],
        "any": ["SetPriority"],
    }


def test_a_queue_is_switched_off_and_on(shop: Shell) -> None:
    begun(shop)
    assert "now" not in shop.ok("queues").splitlines()[0]
    assert shop.ok("switch", "shop", "off", "--reason", "stock taking") == "shop: off\n"
    assert shop.ok("switch", "shop", "off") == "shop: was off already\n"
    assert shop.run("take", "shop") == 3
    header, clients, row, why = shop.ok("queues").splitlines()
    assert header.split()[-1] == "now"
    assert (clients.split()[-1], row.split()[-1]) == ("0", "off")
    assert why.startswith("shop is switched off since 2")
    assert why.endswith(f": stock taking, by {shop.store._context.actor}")
    assert shop.ok("waiting", "shop").splitlines()[1] == why
    assert [each["off_why"].split(",")[0] for each in shop.rows("queues")] == ["", "stock taking"]
    assert shop.ok("switch", "shop", "on") == "shop: on\n"
    assert "off" not in shop.ok("queues") + shop.ok("waiting", "shop")
    assert shop.ok("take", "shop") == "a book\n"


def test_it_is_explained_why_one_went_before_another(
    shop: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    early, late = begun(shop), begun(shop)
    late.prioritise(200)
    shop.ok("take", "shop")
    pair = ("--first", late.dialog, "--second", early.dialog)
    lines = shop.ok("explain", "--queue", "shop", *pair, "--store", shop.url).splitlines()
    assert lines[0].startswith(f"{late.dialog}/t: its first message came at 2")
    assert lines[1].endswith("not raised, never taken")
    first, second = f"{late.dialog}/t", f"{early.dialog}/t"
    assert lines[2:] == [f"{first} before {second}: {first} was raised, {second} was not"]
    turned = ("--first", early.dialog, "--second", late.dialog)
    lines = shop.ok("explain", "--queue", "shop", *turned).splitlines()
    assert lines[0].startswith("the other way round: ")
    monkeypatch.delenv("FAIRLEAD_STORE")
    assert shop.run("explain", "--queue", "shop", *turned) == 2
    assert "fairlead.db: found no file" in shop.err


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (("conversations", "--service", "Shpo"), "service: found 'Shpo', allowed: Client, Shop"),
        (("conversations", "--before", "17"), "dialog: found '17', allowed: a name such as d-17"),
        (("conversations", "--most", "0"), "--most: found 0, allowed: an integer from 1"),
        (("conversation", "d-99"), "dialog: found 'd-99', allowed: one that is open"),
        (("conversation", "\x1b[31m"), r"dialog: found '\x1b[31m', allowed: a name such as d-17"),
        (("conversation", "d-1", "--side", "target"), "found --side alone, allowed: with --end"),
        (("conversation", "d-1", "--end", "--error", "1"), "found --error alone, allowed: with"),
        (("conversation", "d-1", "--end", "--cleanup"), "found --cleanup alone, allowed: with"),
        (("conversation", "d-1", "--description", "x"), "found --description alone, allowed: with"),
        (("conversation", "d-1", "--end", "--json"), "found --end with --json or --ids"),
        (("conversation", "d-1", "--end", "--side", "left"), "--side: found 'left', allowed: ini"),
        (
            ("conversation", "d-1", "--end", "--side", "target", "--error", "0"),
            "--error: found 0, allowed: an integer from 1 to 2147483647",
        ),
        (
            ("conversation", "d-1", "--end", "--side", "target", "--error", "1", "--cleanup"),
            "found --error and --cleanup, allowed: one of them",
        ),
        (("switch", "shop", "of"), "switch: found 'of', allowed: on, off"),
        (("switch", "shp", "off"), "queue: found 'shp', allowed: clients, shop"),
        (("switch", "shop", "off", "--reason", "a\nb"), r"reason: found 'a\nb', allowed: a text"),
        (("explain", "--queue", "shop"), "explain --queue goes with --first and --second"),
        (("explain", "--first", "a", "--second", "b"), "explain --queue goes with --first"),
        (
            ("explain", "pool", "--queue", "shop", "--first", "a", "--second", "b"),
            "explain --queue goes with --first and --second, and nothing else",
        ),
        (
            ("explain", "--queue", "shop", "--first", "a", "--second", "b"),
            "explain: found 'a', allowed: a group of queue 'shop', or a dialog such as d-17",
        ),
    ],
)
def test_bad_input_is_one_line(shop: Shell, arguments: tuple[str, ...], line: str) -> None:
    assert shop.run(*arguments) == 2
    assert line in shop.err
    assert len(shop.err.splitlines()) == 1
    assert shop.err.isascii()
    assert shop.store.off("shop") is None


def test_names_do_not_reach_a_terminal_as_they_are(shop: Shell) -> None:
    mine = shop.store.begin_dialog("Client", "Shop", "Orders", group="[bold]x[/bold]; $(date)")
    mine.send("Order", "")
    shop.store.ends(mine.dialog)[1].send("Confirmation", "")
    with shop.store.transaction() as tx:  # as plain SQL could have it
        tx.execute(RENAME if not shop.store.has_one_writer else RENAME.replace(".", "_"))
    said = shop.ok("conversations") + shop.ok("conversation", mine.dialog)
    assert "\x1b" not in said
    assert r"a\x1b[31mb" in said
    assert said.count("[bold]x[/bold]; $(date)") == 3
    shop.store.set_limits("q", max_failures=1, poison="off")
    shop.store.send("q", "", group="[red]")
    with shop.store.transaction(shop.store.take("q")) as tx:
        tx.release(error="\x1b[2J gone")
    said = shop.ok("queues") + shop.ok("waiting", "q")
    assert "\x1b" not in said
    shop.store.send("q", "", group="other")
    pair = ("--first", "[red]", "--second", "other")
    assert "[red]: its first message came" in shop.ok("explain", "--queue", "q", *pair)
    assert all(json.loads(line) for line in shop.ok("conversations", "--json").splitlines())
