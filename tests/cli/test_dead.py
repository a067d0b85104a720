"""Dead letters: counted by reason, chosen by reason, and asked for before they are deleted."""

import sys

import pytest
from tests.cli.shell import Shell

ROTTEN, LATE = "ValueError: rotten", "gone: too late"


def died(shell: Shell, *reasons: str) -> None:
    """A dead letter for each reason; their ids are their numbers, from 1 on."""
    shell.store.send_many("mails", [{"body": "", "id": str(k + 1)} for k in range(len(reasons))])
    for work, reason in zip(shell.store.take_many("mails", len(reasons)), reasons, strict=True):
        next(work)
        work.reject(reason)


def asked(monkeypatch: pytest.MonkeyPatch, *, yes: bool) -> list[str]:
    """What is asked from now on, on a terminal."""
    questions: list[str] = []

    def confirm(question: str, **_: object) -> bool:
        questions.append(question)
        return yes

    monkeypatch.setattr(sys.stdin, "isatty", lambda: True)
    monkeypatch.setattr("typer.confirm", confirm)
    return questions


def test_they_are_counted_by_reason_before_they_are_listed(shell: Shell) -> None:
    died(shell, ROTTEN + " 1", LATE, LATE, ROTTEN + " 2")
    lines = shell.ok("dead", "mails").splitlines()
    assert lines[:3] == [f"2 {LATE}", f"1 {ROTTEN} 1", f"1 {ROTTEN} 2"]
    assert len(lines) == 3 + 1 + 4


def test_of_very_many_reasons_the_most_frequent_are_counted(shell: Shell) -> None:
    died(shell, *(f"no {k:02}" for k in range(15)))
    lines = shell.ok("dead", "mails").splitlines()
    assert lines[9:11] == ["1 no 09", "5 of 5 other reasons"]


def test_those_that_are_not_shown_are_said(shell: Shell) -> None:
    died(shell, *[LATE] * 4)
    for more in ([], ["--json"]):
        assert shell.run("dead", "mails", "--most", "3", *more) == 0
        assert shell.err == "only the oldest 3 are shown; --most N shows more\n"
    shell.ok("dead", "mails", "--most", "4")
    shell.ok("dead", "mails")


def test_a_reason_is_sent_again_and_another_one_dropped(
    shell: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("fairlead.store.admin.dead_letters.STEP", 2)
    died(shell, LATE, ROTTEN + " 1", LATE, LATE, ROTTEN + " 2", LATE, "%", LATE)
    assert [row["id"] for row in shell.rows("dead", "mails", "--reason", "ValueError")] == [
        "2",
        "5",
    ]
    assert shell.ok("dead", "mails", "--reason", "ValueError").startswith(f"1 {ROTTEN} 1\n1 ")
    assert (
        shell.ok("dead", "mails", "--retry-all", "--reason", "gone") == "sent again: 5 messages\n"
    )
    assert (
        shell.ok("dead", "mails", "--drop-all", "--reason", ROTTEN) == "deleted: 2 dead letters\n"
    )
    assert [row["reason"] for row in shell.rows("dead", "mails")] == ["%"]
    assert shell.ok("dead", "mails", "--reason", "_") == ""
    assert (
        shell.ok("dead", "mails", "--drop-all", "--reason", "rotten") == "deleted: 0 dead letters\n"
    )


def test_a_reason_goes_with_no_ids(shell: Shell) -> None:
    died(shell, LATE)
    assert shell.run("dead", "mails", "--retry", "1", "--reason", LATE) == 2
    assert "found --reason with --retry, allowed: " in shell.err


def test_on_a_terminal_dropping_all_asks(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    died(shell, LATE, LATE, ROTTEN)
    questions = asked(monkeypatch, yes=False)
    assert shell.ok("dead", "mails", "--drop-all") == "nothing was done\n"
    assert shell.ok("dead", "mails", "--drop-all", "--reason", "gone") == "nothing was done\n"
    assert questions == [
        "Delete 3 dead letters of mails?",
        "Delete 2 dead letters of mails, whose reason begins with 'gone'?",
    ]
    assert len(shell.rows("dead", "mails")) == 3
    assert shell.ok("dead", "mails", "--drop-all", "--yes") == "deleted: 3 dead letters\n"
    assert len(questions) == 2


def test_the_questions_of_others_say_how_many_go(
    shell: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    died(shell, LATE)
    shell.store.send_many("mails", [{"body": "", "group": "g", "tenant": "t"}] * 3)
    shell.store.send("mails", "", group="held", tenant="t")
    shell.store.send("mails", "", delay=3600)
    work = shell.store.take("mails", group="held")
    assert work is not None
    questions = asked(monkeypatch, yes=False)
    shell.ok("purge", "mails")
    shell.ok("purge", "mails", "--tenant", "t")
    shell.ok("purge", "mails", "--group", "other")
    next(work)
    work.accept()
    shell.ok("delete-queue", "mails")
    shell.ok("delete-queue", "mails", "--purge")
    assert questions == [
        "Delete 4 messages that wait in mails?",
        "Delete 3 messages that wait in mails, tenant t?",
        "Delete 0 messages that wait in mails, group other?",
        "Delete mails?",
        "Delete mails with 3 messages that wait, 1 delayed message and 1 dead letter?",
    ]


def test_a_queue_that_is_not_empty_names_the_option(shell: Shell) -> None:
    died(shell, LATE)
    assert shell.run("delete-queue", "mails", "--yes") == 2
    assert "not empty (1 dead), allowed: an empty one, or with --purge" in shell.err


def test_a_queue_is_deleted_and_it_says_with_how_much(shell: Shell) -> None:
    died(shell, LATE, LATE)
    shell.store.send_many("mails", [{"body": ""}] * 3)
    assert shell.ok("delete-queue", "mails", "--purge", "--yes") == (
        "deleted: mails, with 3 messages and 2 dead letters\n"
    )
