"""Signals whose handlers raise in the middle of a call: nothing twice, nothing stands still."""

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from fairlead.sockets import Push
from fairlead.sockets.guard import Calm

SCRIPT = Path(__file__).with_name("interrupted.py")


def interrupted(kind: str, times: int) -> None:
    done = subprocess.run(
        [sys.executable, SCRIPT, kind, str(times)],
        capture_output=True,
        text=True,
        check=False,
        timeout=600,
    )
    assert (done.stdout, done.stderr) == ("True 1 True\n", "")


@pytest.mark.parametrize("kind", ["push", "pull", "req"])
def test_what_raises_in_the_middle_does_nothing_twice(kind: str) -> None:
    interrupted(kind, 2000)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["push", "pull", "req"])
def test_a_hundred_thousand_interrupts(kind: str) -> None:
    interrupted(kind, 100_000)


def test_signals_are_held_back_as_before_when_it_ends() -> None:
    before = signal.pthread_sigmask(signal.SIG_BLOCK, ())
    with Calm():
        assert signal.SIGINT in signal.pthread_sigmask(signal.SIG_BLOCK, ())
    assert signal.pthread_sigmask(signal.SIG_BLOCK, ()) == before
    with Push() as push:
        push.endpoints()
    assert signal.pthread_sigmask(signal.SIG_BLOCK, ()) == before
