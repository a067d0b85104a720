"""The commands about channels and about the queue manager that a store is, without servers."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from fairlead.cli.app import run
from tests.channels.sites import Sites, sites_of, written

Called = Callable[..., str]


@pytest.fixture(params=["sqlite", "postgresql"])
def sites(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Sites]:
    with sites_of(tmp_path, request.param, written(tmp_path)) as found:
        yield found.declare()


@pytest.fixture
def called(sites: Sites, capsys: pytest.CaptureFixture[str]) -> Called:
    def call(*words: str, status: int = 0) -> str:
        """What a command on the store of QM1 says."""
        capsys.readouterr()
        assert run([*words, "--store", sites.urls["QM1"]]) == status
        out, errors = capsys.readouterr()
        return out + errors

    return call


def test_channels_are_listed_with_what_waits(sites: Sites, called: Called) -> None:
    sites.stores["QM1"].put("ORDERS@QM2", "o")
    rows = [json.loads(line) for line in called("channels", "--json").splitlines()]
    assert [(row["channel"], row["direction"], row["waiting"]) for row in rows] == [
        ("TO.QM2", "to", 1),
        ("TO.QM3", "to", 0),
    ]
    assert "TO.QM2" in called("channels", "list")


def test_what_an_operator_wants_is_kept(sites: Sites, called: Called) -> None:
    store = sites.stores["QM1"]
    for act, wanted in (
        ("stop", "stopped"),
        ("start", ""),
        ("pause", "paused"),
        ("resume", ""),
        ("reset", "reset"),
    ):
        assert "TO.QM2" in called("channels", act, "TO.QM2")
        assert next(row.wanted for row in store.channels() if row.name == "TO.QM2") == wanted


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (("channels", "halt"), "found 'halt', allowed: list, start, stop, pause, resume, reset"),
        (("channels", "stop"), "channels stop: found no CHANNEL, allowed: the name of a channel"),
        (("channels", "stop", "TO.QM9"), "channel: found 'TO.QM9', allowed: TO.QM2, TO.QM3"),
        (("channels", "list", "x"), "channels list: found 'x', allowed: nothing more"),
        (("queue-manager", "disable"), "queue-manager disable: found no QUEUE, allowed: its name"),
        (("queue-manager", "suspend", "q"), "found 'q', allowed: nothing more"),
        (("queue-manager", "disable", "NONE"), "NONE"),
    ],
)
def test_what_is_wrong_is_said_in_one_line(
    words: tuple[str, ...], line: str, called: Called
) -> None:
    said = called(*words, status=2)
    assert line in said
    assert said.count("\n") == 1


def test_the_queue_manager_is_shown_suspended_and_resumed(sites: Sites, called: Called) -> None:
    assert json.loads(called("queue-manager", "show", "--json"))["suspended"] is False
    assert "2 queue managers are told" in called("queue-manager", "suspend")
    assert json.loads(called("queue-manager", "show", "--json"))["suspended"] is True
    called("queue-manager", "resume")
    assert sites.count("QM1", "channel:TO.QM2") == 2


def test_send_puts_by_the_cluster(sites: Sites, called: Called, tmp_path: Path) -> None:
    called("send", "ORDERS", "o")
    called("send", "ORDERS@QM3", "o")
    called("send", "own", "o")
    counts = [sites.count("QM1", queue) for queue in ("channel:TO.QM2", "channel:TO.QM3", "own")]
    assert sum(counts[:2]) == 2
    assert counts[1:] == [1, 1]


def test_a_store_of_no_queue_manager_says_so(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    url = f"sqlite:///{tmp_path}/plain.db"
    assert run(["store", "init", "--store", url]) == 0
    assert run(["queue-manager", "--store", url]) == 2
    assert "found a store that is no queue manager's" in capsys.readouterr().err
    assert run(["channels", "--store", url]) == 0
