"""Signals whose handlers raise in the middle of a call: nothing twice, nothing stands still."""

import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

from fairlead.sockets import Pull, Push, Rep, Req, guard
from fairlead.sockets.guard import Calm

from .test_req_rep import SECONDS, serving
from .waiting import until_up

SCRIPT = Path(__file__).with_name("interrupted.py")
OURS = str(Path(guard.__file__).parent)


class ComeError(Exception):
    """What a handler raises."""


@contextmanager
def handlers(*found: tuple[int, Callable[[int, FrameType | None], object]]) -> Iterator[None]:
    before = [(number, signal.signal(number, handler)) for number, handler in found]
    try:
        yield
    finally:
        for number, handler in before:
            signal.signal(number, handler)


def raising(number: int, frame: FrameType | None) -> None:
    raise ComeError(signal.Signals(number).name)


def interrupted(kind: str, times: int, threads: int) -> None:
    done = subprocess.run(
        [sys.executable, SCRIPT, kind, str(times), str(threads)],
        capture_output=True,
        text=True,
        check=False,
        timeout=600,
    )
    assert (done.stdout, done.stderr) == ("True 1 True\n", "")


@pytest.mark.parametrize(("kind", "threads"), [("push", 0), ("push", 2), ("pull", 2), ("req", 2)])
def test_what_raises_in_the_middle_does_nothing_twice(kind: str, threads: int) -> None:
    interrupted(kind, 2000, threads)


@pytest.mark.slow
@pytest.mark.parametrize("threads", [0, 2])
@pytest.mark.parametrize("kind", ["push", "pull", "req"])
def test_a_hundred_thousand_interrupts(kind: str, threads: int) -> None:
    interrupted(kind, 100_000, threads)


# -------- A signal at each instruction


def at_each_instruction(call: Callable[[int], object]) -> int:
    """Make a call again and again, with a signal at its first instruction, its second, and so on.

    Those of its caller do not count. Returns how many there were.
    """
    left = number = 0

    def trace(frame: FrameType, event: str, _: object) -> Any:
        nonlocal left
        if not frame.f_code.co_filename.startswith(OURS):
            return trace if event == "call" else None
        frame.f_trace_opcodes = True
        if event == "opcode":
            left -= 1
            if left == 0:
                signal.raise_signal(signal.SIGALRM)
        return trace

    while left <= 0:
        number += 1
        left = number
        try:
            sys.settrace(trace)
            call(number)
        except ComeError:
            pass
        finally:
            sys.settrace(None)
    return number


def test_a_signal_at_each_instruction_of_send_and_recv() -> None:
    with Pull() as pull, Push() as push, handlers((signal.SIGALRM, raising)):
        push.connect(pull.bind("tcp://127.0.0.1:0"), name="pull")
        until_up(push, "pull")
        found: list[bytes] = []
        receiving = threading.Thread(
            target=lambda: [*map(found.append, iter(lambda: pull.recv(timeout=SECONDS), b"end"))]
        )
        receiving.start()
        n = at_each_instruction(lambda k: push.send(b"%d" % k, timeout=SECONDS))
        push.send(b"end", timeout=SECONDS)
        receiving.join()
        numbers = [*map(int, found)]
        assert n > 100
        assert numbers == sorted({*numbers})

        taken: list[bytes] = []

        def take(k: int) -> None:
            push.send(b"%d" % k, timeout=SECONDS)
            taken.append(pull.recv(timeout=SECONDS))

        assert at_each_instruction(take) > n
        numbers = [*map(int, taken)]
        assert numbers == sorted({*numbers})


def test_a_signal_at_each_instruction_of_a_request_and_of_what_one_asks_of_a_socket() -> None:
    with Rep() as rep, Req() as req, handlers((signal.SIGALRM, raising)):
        req.connect(rep.bind("tcp://127.0.0.1:0"), name="rep")
        until_up(req, "rep")
        with serving(rep, ""):
            for call in (
                lambda k: req.request(b"%d" % k, timeout=SECONDS),
                lambda _: (req.endpoints(), req.counters()),
                lambda k: req.drain("rep") if k % 2 else req.resume("rep"),
            ):
                assert at_each_instruction(call) > 50
            req.resume("rep")
            assert req.request(b"still", timeout=SECONDS) == b"still"
            assert not req._pending


# -------- The handlers


def test_handlers_come_after_the_block_each_though_one_raises() -> None:
    came: list[str] = []

    def noting(number: int, frame: FrameType | None) -> None:
        came.append(signal.Signals(number).name)
        raise ComeError(came[-1])

    with handlers((signal.SIGUSR1, noting), (signal.SIGUSR2, noting)):

        def block() -> None:
            with Calm():
                signal.raise_signal(signal.SIGUSR2)
                with Calm():
                    signal.raise_signal(signal.SIGUSR1)
                assert came == []

        with pytest.raises(ComeError, match="SIGUSR1") as raised:
            block()
        assert came == ["SIGUSR2", "SIGUSR1"]
        assert str(raised.value.__context__) == "SIGUSR2"
        assert signal.getsignal(signal.SIGUSR1) is signal.getsignal(signal.SIGUSR2) is noting


def test_handlers_are_the_programs_own_after_a_signal_at_each_instruction_of_a_block() -> None:
    def block(_: int) -> None:
        with Calm():
            pass

    def other(number: int, frame: FrameType | None) -> None:
        """Does nothing."""

    with handlers((signal.SIGALRM, raising), (signal.SIGUSR1, other)):
        assert at_each_instruction(block) > 20
        block(0)
        assert signal.getsignal(signal.SIGALRM) is raising
        assert signal.getsignal(signal.SIGUSR1) is other
        assert not Calm._inside


def test_other_threads_hold_nothing_back() -> None:
    found: list[object] = []

    def look() -> None:
        with Calm():
            found.append(signal.getsignal(signal.SIGINT))

    thread = threading.Thread(target=look)
    thread.start()
    thread.join()
    assert found == [signal.getsignal(signal.SIGINT)]
