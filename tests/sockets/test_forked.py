"""A process that forks: the child can use no socket of the parent, and harms none."""

import os
import sys
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from fairlead.errors import SocketError
from fairlead.sockets import Device, Pull, Push, Rep, Req

from .conftest import Addresses
from .test_req_rep import SECONDS, serving
from .waiting import until_up

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")  # of a fork beside threads


def in_child(does: Callable[[], None]) -> None:
    """Do something in a forked process, which ends at once."""
    child = os.fork()
    if not child:
        try:
            does()
        except BaseException:  # noqa: BLE001 - or the child would run the other tests
            traceback.print_exc(file=sys.stderr)
            os._exit(1)
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0


def refuses(call: Callable[..., object], *args: Any, **said: Any) -> None:
    with pytest.raises(SocketError, match="made before this process was forked, allowed: one that"):
        call(*args, **said)


def test_the_first_call_in_a_child_is_refused_and_the_parents_stream_is_whole(
    addresses: Addresses,
) -> None:
    with Push(max_size=16 << 20) as push, Pull() as pull, Req() as req, Rep() as rep:
        push.connect(pull.bind(addresses()))
        req.connect(rep.bind(addresses()))
        until_up(push, *[each.name for each in push.endpoints()])
        push.send(b"before", timeout=SECONDS)

        def use() -> None:
            refuses(push.send, b"x" * (8 << 20))
            refuses(push.send, b"from the child", timeout=0)
            refuses(req.request, b"", timeout=0)
            refuses(pull.recv, timeout=0)
            refuses(push.connect, "tcp://127.0.0.1:1")
            refuses(push.disconnect, "x")
            refuses(pull.endpoints)
            refuses(pull.counters)
            with Push() as own, Pull() as other:
                own.connect(other.bind("tcp://127.0.0.1:0"))
                own.send(b"its own", timeout=SECONDS)
                assert other.recv(timeout=SECONDS) == b"its own"

        in_child(use)
        for k in range(5):
            push.send(b"%d" % k, timeout=SECONDS)
        found = [pull.recv(timeout=SECONDS) for _ in range(6)]
        assert found == [b"before", *(b"%d" % k for k in range(5))]
        with serving(rep, ""):
            assert req.request(b"q", timeout=SECONDS) == b"q"


def test_a_child_that_closes_what_it_has_closes_nothing_of_the_parent(
    addresses: Addresses,
) -> None:
    """As the end of its `with` block does; nor does it remove the parent's Unix socket."""
    with Push() as push, Pull() as pull, Device() as device:
        push.connect(pull.bind(addresses()))
        device.front.bind(addresses())
        until_up(push, *[each.name for each in push.endpoints()])
        files = len([*Path("/proc/self/fd").iterdir()])

        def close() -> None:
            for each in (push, pull, device):
                each.close()
            assert len([*Path("/proc/self/fd").iterdir()]) < files

        in_child(close)
        push.send(b"still", timeout=SECONDS)
        assert pull.recv(timeout=SECONDS) == b"still"
        with Push() as other:
            other.connect(pull.endpoints()[0].address)
            other.send(b"more", timeout=SECONDS)
            assert pull.recv(timeout=SECONDS) == b"more"


def test_a_fork_while_another_thread_holds_the_lock() -> None:
    with Push() as push, push.lock:
        in_child(lambda: refuses(push.endpoints))
