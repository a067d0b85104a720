"""After a backup was restored, whoever reads the journal on from a cursor misses nothing."""

import shutil
import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest

from fairlead import Store
from fairlead.cli.app import run
from fairlead.errors import MessageError, PrunedError, StoreError
from tests.store.sql import by_hand
from tests.stores import made_url

Open = Callable[..., Store]


def restored(url: str, transactions: int) -> None:
    """What a dump that is restored into another server is: its transactions count otherwise."""
    statement = (
        "UPDATE fairlead.journal SET transaction = (transaction::text::numeric + %s)::text::xid8"
    )
    by_hand(url, statement, transactions)


def ids(store: Store, since: str | None = None) -> list[str]:
    return [event.id for event in store.journal(since)]


@pytest.fixture
def pg() -> str:
    return made_url("postgresql")


def test_a_journal_of_a_server_that_was_older_is_read_whole(pg: str, opened: Open) -> None:
    before = opened(pg)
    for n in range(5):
        before.send("q", n, id=f"before-{n}")
    restored(pg, 1_000_000)
    store = opened(pg)
    for since in (None, "2000000-3"):
        with pytest.raises(StoreError, match="`fairlead store recover`") as refused:
            ids(store, since)
        assert "\n" not in str(refused.value)
    assert [each.what for each in store.check()] == [
        "events of a restored backup, after which no event would be read"
    ]
    store.recover()
    assert store.check() == []
    for n in range(5):
        store.send("q", n, id=f"after-{n}")
    every = [f"before-{n}" for n in range(5)] + [""] + [f"after-{n}" for n in range(5)]
    assert ids(store) == every
    cursors = [event.cursor for event in store.journal()]
    for place, cursor in enumerate(cursors):
        assert ids(store, cursor) == every[place + 1 :]
    assert store.latest() == cursors[-1]
    assert [event.kind for event in store.journal()][5] == "recovered"


def test_check_repairs_a_journal_of_an_older_server(pg: str, opened: Open) -> None:
    store = opened(pg)
    store.send("q", 1, id="before")
    restored(pg, 1_000_000)
    store.check(repair=True)
    store.send("q", 2, id="after")
    assert ids(store) == ["before", "", "after"]


@pytest.mark.parametrize("transactions", [1_000_000, 0])
def test_a_cursor_of_what_the_backup_did_not_have_goes_on_with_what_is_new(
    transactions: int, pg: str, opened: Open
) -> None:
    store = opened(pg)
    store.send("q", 1, id="in the backup")
    store.send("q", 2, id="lost")
    cursor = store.latest()
    assert cursor is not None
    xid, _, number = cursor.partition("-")
    by_hand(pg, "DELETE FROM fairlead.journal WHERE key = 'lost'")
    by_hand(pg, "UPDATE fairlead.schema SET pruned_id = 0, pruned_transaction = '0'")
    by_hand(pg, "SELECT setval('fairlead.numbers', %s)", int(number) - 1)
    restored(pg, transactions)
    store.recover()
    store.send("q", 3, id="new")
    assert ids(store, f"{int(xid) + transactions}-{number}") == ["", "new"]


def test_backups_are_restored_one_after_another(pg: str, opened: Open) -> None:
    store = opened(pg)
    every = []
    for turn in range(4):
        store.send("q", turn, id=f"turn-{turn}")
        store.recover()
        every += [f"turn-{turn}", ""]
    assert ids(store) == every
    cursors = [event.cursor for event in store.journal()]
    assert [cursor.split(".")[0] for cursor in cursors if "." in cursor] == [
        "1",
        "1",
        "2",
        "2",
        "3",
        "3",
        "4",
    ]
    for place, cursor in enumerate(cursors):
        assert ids(store, cursor) == every[place + 1 :]


def test_what_is_forgotten_is_told_across_epochs(url: str, opened: Open) -> None:
    now = [1_000_000_000.0]
    store = opened(url, clock=lambda: now[0])
    store.send("q", 1, id="old")
    old = store.latest()
    now[0] += 10
    store.recover()
    store.send("q", 2, id="new")
    new = store.latest()
    now[0] += 10
    store.send("q", 3, id="newest")
    store.prune(15)
    assert ids(store, old) == ["", "new", "newest"]
    store.prune(5)
    with pytest.raises(PrunedError) as refused:
        ids(store, old)
    assert f"'{new}' or later" in str(refused.value)
    assert ids(store, new) == ["newest"]


def test_whoever_was_before_a_backup_is_told_that_its_recovery_is_kept_no_more(
    pg: str, opened: Open
) -> None:
    now = [1_000_000_000.0]
    store = opened(pg, clock=lambda: now[0])
    store.send("q", 1, id="before")
    restored(pg, 1_000_000)
    store.recover()
    now[0] += 10
    store.send("q", 2, id="after")
    store.prune(5)
    with pytest.raises(PrunedError):
        ids(store, "2000000-3")


def test_a_copy_of_a_file_that_goes_on_is_told_from_the_file(opened: Open, tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/work.db"
    store = opened(url)
    store.send("q", 1, id="in the backup")
    with (
        sqlite3.connect(tmp_path / "backup.db") as copy,
        sqlite3.connect(tmp_path / "work.db") as file,
    ):
        file.backup(copy)
    copy.close()
    file.close()
    for n in range(3):
        store.send("q", n, id=f"lost-{n}")
    cursor = store.latest()
    store.close()
    for name in ("work.db-wal", "work.db-shm"):
        (tmp_path / name).unlink(missing_ok=True)
    shutil.move(tmp_path / "backup.db", tmp_path / "work.db")
    store = opened(url)
    with pytest.raises(MessageError, match=r"has not reached, .* `fairlead store recover`"):
        ids(store, cursor)
    store.recover()
    for n in range(9):
        store.send("q", n, id=f"new-{n}")
    assert ids(store, cursor) == ["", *(f"new-{n}" for n in range(9))]


def test_a_cursor_of_an_epoch_that_never_was_is_refused(store: Store, url: str) -> None:
    store.send("q", 1)
    for cursor in (
        "1.1-1",
        "0.1",
        "x.1-1",
        "-1-1",
        "1-99999999999999999999",
        "1e5-1",
        f"{2**64}-1",
    ):
        with pytest.raises(MessageError, match="since: found"):
            ids(store, cursor)


def test_the_command_goes_on_from_a_cursor_of_a_later_epoch(
    url: str, store: Store, capfd: pytest.CaptureFixture[str]
) -> None:
    store.recover()
    store.send("q", 1, id="one")
    cursor = store.latest()
    assert cursor is not None
    assert cursor.startswith("1.")
    store.send("q", 2, id="two")
    assert run(["journal", "--since", cursor, "--store", url]) == 0
    (line,) = capfd.readouterr().out.splitlines()
    assert '"two"' in line


def test_data_that_was_restored_without_its_sequence_is_numbered_on(pg: str, opened: Open) -> None:
    store = opened(pg)
    for n in range(20):
        store.send("q", n, group=f"g{n}")
    by_hand(pg, "SELECT setval('fairlead.numbers', 3)")
    with pytest.raises(MessageError, match=r"which a group has, .*`fairlead store recover`"):
        store.send("q", 20, group="g20")
    with pytest.raises(MessageError, match="`fairlead store recover`"):
        store.send_many("q", [{"body": 20, "group": "g20"}])
    store.recover()
    store.send("q", 20, group="g20")
    got = []
    while work := store.take("q"):
        got += [message.body for message in work]
        work.accept()
    assert got == list(range(21))
