"""What a socket is given is checked at once: one line says what was found and is allowed."""

import asyncio
import inspect
import re
import threading
from typing import Any

import pytest

from fairlead import Balancer, Cluster
from fairlead.errors import MessageError, SocketError
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
        with pytest.raises(TypeError, match=rf"{kind.__name__}|{kind.__mro__[1].__name__}"):
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
