"""`fairlead queues --by tenant`: who of a queue's tenants waits."""

import json
from pathlib import Path

import pytest

from fairlead import Store
from fairlead.cli.app import run


@pytest.fixture(autouse=True)
def store_url(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv("FAIRLEAD_STORE", url := f"sqlite:///{tmp_path}/q.db")
    with Store.open(url) as store:
        for number in range(3):
            store.send("orders", number, group=f"g{number}", tenant="north")
        store.send("orders", "x", tenant="south")
    return url


def test_the_tenant_with_the_most_messages_comes_first(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert run(["queues", "--by", "tenant"]) == 0
    head, north, south = (line.split() for line in capsys.readouterr().out.splitlines())
    assert head[:4] == ["queue", "tenant", "messages", "ready"]
    assert (north[:4], south[:4]) == (
        ["orders", "north", "3", "3"],
        ["orders", "south", "1", "1"],
    )
    assert run(["queues", "--by", "tenant", "--json"]) == 0
    rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [(row["tenant"], row["messages"]) for row in rows] == [("north", 3), ("south", 1)]


def test_internal_queues_are_shown_if_asked_for(
    store_url: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with Store.open(store_url) as store, store.transaction() as tx:
        tx.send("fairlead:book", "x")
    for more, is_shown in ([], False), (["--all"], True), (["--json"], True):
        assert run(["queues", "--by", "tenant", *more]) == 0
        assert ("fairlead:book" in capsys.readouterr().out) == is_shown


def test_by_something_else_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["queues", "--by", "group"]) == 2
    assert "queues --by: found 'group', allowed: tenant" in capsys.readouterr().err


def test_a_tenant_is_switched_off_and_on(capsys: pytest.CaptureFixture[str]) -> None:
    off = ["switch", "orders", "off", "--tenant", "north"]

    def said(*words: str) -> list[str]:
        assert run([*words]) == 0
        return capsys.readouterr().out.splitlines()

    assert said(*off, "--reason", "too much") == ["tenant north of orders: off"]
    assert said(*off) == ["tenant north of orders: was off already"]
    head, north, south, why = said("queues", "--by", "tenant")
    assert [line.split()[-1] for line in (head, north)] == ["now", "off"]
    assert "off" not in south
    assert why.startswith("tenant north of orders is switched off since 2")
    assert ": too much, by " in why
    _, row, told = said("queues")
    assert row.endswith("1 tenant off")
    assert told == why
    assert why in said("waiting", "orders")
    assert 'fairlead_queue_tenants_off{queue="orders"} 1' in said("metrics")
    assert said("take", "orders") == ["x"]
    assert run(["take", "orders"]) == 3
    assert said("switch", "orders", "on", "--tenant", "north") == ["tenant north of orders: on"]
    assert said("take", "orders") == ["0"]
    assert "off" not in " ".join(said("queues", "--by", "tenant"))
