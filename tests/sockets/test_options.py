"""What a socket is given is checked at once: one line says what was found and is allowed."""

import asyncio
import inspect
import re
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

from fairlead import Balancer, Cluster
from fairlead.errors import ConfigError, MessageError, SocketError
from fairlead.sockets import Device, Pull, Push, Rep, Req
from fairlead.sockets.base import Socket

ALL: tuple[Any, ...] = (Push, Pull, Req, Rep)
NUMBERS = (True, 1.5, "1", None, 0, -1)
PERIODS = (True, "1", None, float("nan"), float("inf"), 0, -1, 10**400)
WAITS = (True, "1", float("nan"), float("inf"), -1, 1e300)


def refused(name: str, found: object, allowed: str, call: Any, /, *args: Any, **said: Any) -> None:
    with pytest.raises(SocketError) as error:
        call(*args, **said)
    line = str(error.value)
    assert line.startswith(f"{name}: found {str(repr(found))[:50]}")
    assert f", allowed: {allowed}" in line
    assert "\n" not in line


@pytest.mark.parametrize("kind", ALL)
@pytest.mark.parametrize(
    ("name", "found", "allowed"),
    [
        *(("buffer", each, "1 message or more") for each in NUMBERS),
        *(("max_size", each, "1 to 9223372036854775807 bytes") for each in (*NUMBERS, 1 << 63)),
        *(("memory", each, "1 byte or more") for each in NUMBERS),
        *(("on_event", each, "a function of a SocketEvent, or None") for each in (1, "print")),
        *(
            ("reconnect", each, "a pair of seconds (first, most) with 0 < first <= most")
            for each in (
                0.05,
                "1",
                "12",
                None,
                (1,),
                (1, 2, 3),
                (0, 1),
                (2, 1),
                (1, "2"),
                (True, 1),
            )
        ),
    ],
)
def test_what_every_socket_has_is_checked(kind: Any, name: str, found: Any, allowed: str) -> None:
    refused(name, found, allowed, kind, **{name: found})


@pytest.mark.parametrize(
    ("kind", "name", "found", "allowed"),
    [
        *((Req, "resend", each, "more than 0 seconds") for each in PERIODS),
        *((Device, "retry", each, "more than 0 seconds") for each in PERIODS),
        *((Push, "journal", each, "True or False") for each in (1, "yes", None)),
        *((Rep, "max_ttl", each, "1 to 15") for each in (*NUMBERS, 16)),
        *((Push, "cluster", each, "a Cluster (Cluster.of, load") for each in ("nanomsg", {}, 0)),
    ],
)
def test_what_some_have_is_checked(kind: Any, name: str, found: Any, allowed: str) -> None:
    refused(name, found, allowed, kind, **{name: found})


def test_no_other_option_is_taken_and_help_shows_those_there_are() -> None:
    for kind in (*ALL, Device):
        with pytest.raises(
            TypeError, match=rf"^{kind.__name__}: found the option .bufer., allowed"
        ):
            kind(bufer=1)
        assert "buffer" in inspect.signature(kind).parameters
    assert {"resend", "retry", "attempts", "journal"} <= {*inspect.signature(Req).parameters}


@pytest.mark.parametrize("found", WAITS)
def test_a_time_to_wait_is_checked_also_where_nobody_has_to(found: Any) -> None:
    allowed = "0 to 9223372036 seconds, or None for ever"
    with Push() as push, Pull() as pull, Req() as req:
        for call, *args in ((push.send, b""), (req.request, b""), (pull.recv,)):
            refused("timeout", found, allowed, call, *args, timeout=found)
        for wait, *args in ((push.asend, b""), (req.arequest, b""), (pull.arecv,)):
            refused("timeout", found, allowed, asyncio.run, wait(*args, timeout=found))


@pytest.mark.parametrize("found", [*WAITS, None])
def test_how_long_a_socket_lingers_is_checked(found: Any) -> None:
    socket: Socket
    with Push() as socket, Device() as device:
        for each in (socket, device):
            refused("linger", found, "0 to 9223372036 seconds", each.close, found)


def test_a_file_is_no_cluster() -> None:
    with Push() as push:
        refused("cluster", "file.toml", "a Cluster (Cluster.of", push.follow, "file.toml")


@pytest.mark.parametrize("found", ["a\nb", "\x1b[31m", "\x85", 5, None])
def test_a_name_that_can_change_a_line_is_refused(found: Any) -> None:
    with Push() as push:
        for call in (push.connect, push.bind):
            refused("name", found, "text without control", call, "tcp://127.0.0.1:1", name=found)
        assert push.endpoints() == []


@pytest.mark.parametrize("found", [5, None, "group", ["group"], {"grup": "kim"}, {"group": 1.5}])
def test_what_no_message_says_is_refused_as_by_the_balancer_also_where_it_waits(found: Any) -> None:
    table = {"name": "A", "address": "tcp://127.0.0.1:1"}
    cluster = Cluster.of("rendezvous", options={"key": "group"}, destination=[table])
    with pytest.raises(MessageError) as error:
        Balancer(cluster).choose(found)
    said = re.escape(str(error.value))
    with Push(cluster) as push, Req(cluster) as req:
        for call in (push.send, req.request):
            with pytest.raises(MessageError, match=f"^{said}$"):
                call(b"", message=found, timeout=0)
        for wait in (push.asend, req.arequest):
            with pytest.raises(MessageError, match=f"^{said}$"):
                asyncio.run(wait(b"", message=found, timeout=0))


async def waits(_: bytes) -> Any:
    return "text"


class Waits:
    async def __call__(self, _: bytes) -> Any:
        return "text"


@pytest.mark.parametrize("found", [5, None, b"", waits, Waits()])
def test_what_is_no_function_serves_nobody(found: Any) -> None:
    with Rep() as rep:
        refused("handler", found, "a function of bytes that returns bytes", rep.serve, found)


@pytest.mark.parametrize("found", [5, None, lambda body: body])
def test_what_is_no_coroutine_function_serves_nobody(found: Any) -> None:
    allowed = "a coroutine function of bytes that returns bytes"
    with Rep() as rep:
        refused("handler", found, allowed, lambda: asyncio.run(rep.aserve(found)))


@pytest.mark.parametrize(
    "serve",
    [
        lambda rep: rep.serve(lambda body: "text"),
        lambda rep: asyncio.run(rep.aserve(waits)),
        lambda rep: asyncio.run(rep.aserve(Waits())),
    ],
)
def test_a_handler_that_makes_no_bytes_is_told_so(serve: Any) -> None:
    def ask() -> None:
        with pytest.raises(SocketError, match="closed"):
            req.request(b"")

    with Rep() as rep, Req() as req:
        req.connect(rep.bind("tcp://127.0.0.1:0"))
        asking = threading.Thread(target=ask)
        asking.start()
        refused("handler: reply", "text", "bytes", serve, rep)
        req.close()
        asking.join()


@pytest.mark.parametrize("kind", [Push, Req])
@pytest.mark.parametrize("key", ["present", "state", "readers", "speed", "address", "queue"])
def test_what_is_seen_of_a_peer_cannot_be_said(kind: Any, key: str) -> None:
    with kind() as found:
        for call in (found.connect, found.bind):
            with pytest.raises(SocketError, match=f"endpoint: found '{key}', which is seen of a"):
                call("tcp://127.0.0.1:1", **{key: 1})
        with pytest.raises(ConfigError, match=r"priorty.*did you mean"):
            found.connect("tcp://127.0.0.1:1", priorty=1)
        assert found.endpoints() == []


@pytest.mark.slow
def test_a_misspelt_attribute_is_found_by_a_type_checker(tmp_path: Path) -> None:
    """And what is right passes."""
    right = 'Push().connect("tcp://h:1", priority=1, capacity=2, draining=True)'
    lines = [right, right.replace("priority", "priorty"), right.replace("=1,", '="1",')]
    file = tmp_path / "use.py"
    file.write_text("from fairlead.sockets import Push\n" + "\n".join(lines) + "\n")
    command = [sys.executable, "-m", "mypy", "--strict", "--cache-dir", str(tmp_path), str(file)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    found = [line.split(": ", 2)[0] for line in done.stdout.splitlines()[:-1] if ": error" in line]
    assert [each.rpartition(":")[2] for each in found] == ["3", "4"]
