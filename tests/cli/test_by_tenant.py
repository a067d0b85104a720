"""`fairlead queues --by tenant`: who of a queue's tenants waits."""

import json
from pathlib import Path

import pytest

from fairlead import Store
from fairlead.cli.app import run


@pytest.fixture(autouse=True)
def url(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FAIRLEAD_STORE", url := f"sqlite:///{tmp_path}/q.db")
    with Store.open(url) as store:
        for number in range(3):
            store.send("orders", number, group=f"g{number}", tenant="north")
        store.send("orders", "x", tenant="south")


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


def test_by_something_else_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["queues", "--by", "group"]) == 2
    assert "queues --by: found 'group', allowed: tenant" in capsys.readouterr().err
