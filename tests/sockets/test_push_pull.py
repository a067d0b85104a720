"""PUSH and PULL between our sockets and those of nng, both ways."""

import asyncio
import re
import socket
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any

import pynng
import pytest

import oracle
from fairlead import Cluster
from fairlead.errors import ConfigError, SocketError, SocketTimeoutError
from fairlead.sockets import Device, Pull, Push
from fairlead.sockets.endpoints import RESOLVERS
from fairlead.sockets.wire import Protocol, greeting, header
from tests.ports import free_port

from .conftest import Addresses
from .waiting import until, until_up

SECONDS = 20


def raw(url: str) -> socket.socket:
    """A plain connection."""
    port = int(url.rpartition(":")[2])
    return socket.create_connection(("127.0.0.1", port), timeout=SECONDS)


class Peers:
    """Pull sockets of nng by name, and who got what in which order."""

    def __init__(self, addresses: Addresses) -> None:
        self.urls: dict[str, str] = {}
        self.sockets: dict[str, pynng.Pull0] = {}
        self._addresses = addresses

    def open(self, name: str) -> str:
        url = self.urls.setdefault(name, self._addresses())
        self.sockets[name] = pynng.Pull0(listen=url, recv_timeout=SECONDS * 1000)
        return url

    def close(self, name: str) -> None:
        self.sockets.pop(name).close()

    def who_got(self, push: Push, n: int) -> str:
        """Send n messages, one after the other; by whom each was received."""
        before = sent(push)
        found = []
        for k in range(n):
            push.send(str(k).encode(), timeout=SECONDS)
            (name,) = sent(push) - before
            before = sent(push)
            assert self.sockets[name].recv() == str(k).encode()
            found.append(name)
        return "".join(found)


def sent(push: Push) -> Counter[str]:
    return Counter({name: each["sent"] for name, each in push.counters().items() if "sent" in each})


@pytest.fixture
def peers(addresses: Addresses) -> Iterator[Peers]:
    found = Peers(addresses)
    yield found
    for name in [*found.sockets]:
        found.close(name)


def test_the_document_over_real_connections(peers: Peers) -> None:
    with Push() as push:
        for name, priority in {"A": 1, "B": 1, "C": 1, "L": 2}.items():
            push.connect(peers.open(name), name=name, priority=priority)
            until(
                lambda name=name: (
                    name in {each.name for each in push.endpoints() if each.state == "up"}
                )
            )
        assert peers.who_got(push, 10) == "ABCABCABCA"
        peers.close("B")
        until_up(push, *"ACL")
        assert peers.who_got(push, 5) == "CACAC"
        peers.open("B")
        until_up(push, *"ABCL")
        assert peers.who_got(push, 7) == "ACBACBA"
        for name in "ABC":
            peers.close(name)
        until_up(push, "L")
        assert peers.who_got(push, 3) == "LLL"
        peers.open("C")
        until_up(push, *"CL")
        assert peers.who_got(push, 3) == "CCC"
        peers.open("A")
        until_up(push, *"ACL")
        assert peers.who_got(push, 5) == "CACAC"
        for name in "ACL":
            peers.close(name)
        until_up(push)
        with pytest.raises(SocketTimeoutError) as error:
            push.send(b"", timeout=0.01)
        assert str(error.value).startswith("send: nobody was ready within 0.01 s: A down (")


def test_peers_that_connect_have_the_priority_of_the_endpoint(addresses: Addresses) -> None:
    with Push() as push, ExitStack() as stack:
        bound = push.bind(addresses(), priority=2)
        first, second = (
            stack.enter_context(pynng.Pull0(dial=bound, recv_timeout=SECONDS * 1000))
            for _ in range(2)
        )
        until_up(push, f"{bound}#1", f"{bound}#2")
        for k in range(4):
            push.send(str(k).encode(), timeout=SECONDS)
        found = [{peer.recv(), peer.recv()} for peer in (first, second)]
        assert sorted(map(sorted, found)) == [[b"0", b"2"], [b"1", b"3"]]
        better = addresses()
        third = stack.enter_context(pynng.Pull0(listen=better, recv_timeout=SECONDS * 1000))
        push.connect(better, name="better", priority=1)
        until_up(push, "better", f"{bound}#1", f"{bound}#2")
        for k in range(4):
            push.send(str(k).encode(), timeout=SECONDS)
        assert [third.recv() for _ in range(4)] == [b"0", b"1", b"2", b"3"]


def test_a_pull_receives_from_nng_by_connecting_and_by_binding(addresses: Addresses) -> None:
    there = addresses()
    with Pull() as pull, pynng.Push0(listen=there) as one:
        here = pull.bind(addresses())
        pull.connect(there)
        with pynng.Push0(dial=here) as other:
            one.send(b"one")
            assert pull.recv(timeout=SECONDS) == b"one"
            other.send(b"other")
            assert pull.recv(timeout=SECONDS) == b"other"


def test_messages_of_all_sizes_arrive_whole(address: str) -> None:
    bodies = [b"x" * size for size in (0, 1, 4095, 4096, 70_000, 1 << 20)]
    with Pull() as pull, Push() as push:
        push.connect(pull.bind(address))
        for body in bodies:
            push.send(body, timeout=SECONDS)
        assert [pull.recv(timeout=SECONDS) for _ in bodies] == bodies
        push.send(bytearray(b"y"), timeout=SECONDS)
        assert pull.recv(timeout=SECONDS) == b"y"
        with pytest.raises(SocketError, match="message: found 1048577 bytes, allowed: at most"):
            push.send(bytes((1 << 20) + 1))
        with pytest.raises(SocketError, match="message: found 'text', allowed: bytes"):
            push.send("text")  # type: ignore[arg-type]


def test_of_a_better_source_everything_is_received_first(addresses: Addresses) -> None:
    with Push() as low, Push() as high, Pull() as pull:
        low_url, high_url = low.bind(addresses()), high.bind(addresses())
        pull.connect(low_url, priority=9)
        pull.connect(high_url, priority=1)
        until_up(pull, low_url, high_url)
        for k in range(3):
            low.send(b"l%d" % k, timeout=SECONDS)
            high.send(b"h%d" % k, timeout=SECONDS)
        until(lambda: received(pull) == 6)
        found = b" ".join(pull.recv(timeout=SECONDS) for _ in range(6))
    assert found == b"h0 h1 h2 l0 l1 l2"


def test_equal_sources_are_received_in_turn(addresses: Addresses) -> None:
    with Push() as one, Push() as other, Pull() as pull:
        one_url, other_url = one.bind(addresses()), other.bind(addresses())
        for url in (one_url, other_url):
            pull.connect(url)
        until_up(pull, one_url, other_url)
        for push, letter in ((one, b"a"), (other, b"b")):
            before = received(pull)
            for k in range(3):
                push.send(letter + b"%d" % k, timeout=SECONDS)
            until(lambda before=before: received(pull) == before + 3)
        found = b" ".join(pull.recv(timeout=SECONDS) for _ in range(6))
    assert found == b"a0 b0 a1 b1 a2 b2"


def received(pull: Pull) -> int:
    return sum(each.get("received", 0) for each in pull.counters().values())


def test_what_a_source_has_sent_is_received_after_it_has_gone(address: str) -> None:
    with Pull() as pull:
        with Push() as push:
            push.connect(pull.bind(address))
            push.send(b"last words", timeout=SECONDS)
        until(lambda: not [each for each in pull.endpoints() if each.state == "up"])
        assert pull.recv(timeout=SECONDS) == b"last words"


def test_what_waits_for_a_peer_that_does_not_read_is_at_most_the_buffer(address: str) -> None:
    body = b"x" * 100_000
    with Push(buffer=3) as push, Pull(buffer=1) as pull:
        url = push.bind(address)
        pull.connect(url)
        until_up(push, f"{url}#1")
        n = 0
        with pytest.raises(SocketTimeoutError, match=r"#1 busy \(3 waiting\)"):  # noqa: PT012
            while True:
                push.send(body, timeout=0.3)
                n += 1
        assert [pull.recv(timeout=SECONDS) for _ in range(n)] == [body] * n
        push.send(b"again", timeout=SECONDS)
        assert pull.recv(timeout=SECONDS) == b"again"


def test_a_slow_peer_holds_up_no_other(addresses: Addresses) -> None:
    body = b"x" * 100_000
    with Push(buffer=2) as push, Pull(buffer=1) as slow, Pull() as quick:
        for name, pull in {"slow": slow, "quick": quick}.items():
            push.connect(pull.bind(addresses()), name=name, priority=1 if name == "slow" else 2)
        until_up(push, "slow", "quick")
        while not sent(push)["quick"]:
            push.send(body, timeout=SECONDS)
        for _ in range(500):
            push.send(body, timeout=SECONDS)
            assert quick.recv(timeout=SECONDS) == body
        assert slow.recv(timeout=SECONDS) == body


@pytest.mark.parametrize("policy", ["round-robin", "hot-standby", "weighted"])
def test_any_policy_can_choose(policy: str, addresses: Addresses, folder: Path) -> None:
    pulls = {name: Pull() for name in "ABC"}
    weights = {"A": 1, "B": 2, "C": 1}
    tables = "".join(
        f'[[destination]]\nname = "{name}"\naddress = "{pull.bind(addresses())}"\n'
        + (f"weight = {weights[name]}\n" if policy == "weighted" else "")
        for name, pull in pulls.items()
    )
    file = folder / "pool.toml"
    file.write_text(f'policy = "{policy}"\n{tables}')
    with ExitStack() as stack:
        for pull in pulls.values():
            stack.enter_context(pull)
        push = stack.enter_context(Push.from_cluster(file))
        until_up(push, *"ABC")
        for k in range(8):
            push.send(str(k).encode(), timeout=SECONDS)
        expected = {"round-robin": {3, 2}, "hot-standby": {8}, "weighted": {2, 4}}
        assert {*sent(push).values()} == expected[policy]


@pytest.mark.costly
def test_a_run_replayed_gives_the_same_choices(addresses: Addresses) -> None:
    """Four peers that come and go, a buffer that fills, four threads that send."""
    stop = threading.Event()
    with Push(buffer=2, journal=True) as push, ExitStack() as stack:
        pulls = []
        for k in range(4):
            pull = stack.enter_context(Pull(buffer=1))
            pulls.append(pull)
            push.connect(pull.bind(addresses()), name=f"P{k}", priority=1 + k // 2)
        readers = [threading.Thread(target=drain, args=(pull, stop)) for pull in pulls]
        senders = [threading.Thread(target=send_many, args=(push, 300)) for _ in range(4)]
        for thread in [*readers, *senders]:
            thread.start()
        for round_ in range(6):  # connections break under load
            for pull in pulls[round_ % 4 :: 2]:
                with pull.lock:
                    for pipe in [*pull._pipes]:
                        pipe.close()
        for thread in senders:
            thread.join()
        stop.set()
        push.close()
        cluster, journal = push.cluster, push.recorded()
        for pull in pulls:
            pull.close()
        for thread in readers:
            thread.join()
    assert cluster is not None
    chosen = [row["destination"] for row in journal.messages]
    assert len(chosen) >= 1200
    asked = [{**row, "cluster": ""} for row in journal.messages]
    again = oracle.route(cluster.to_dict(), asked, journal.changes)
    assert [each.destination for each in again] == chosen


def send_many(push: Push, n: int) -> None:
    for _ in range(n):
        push.send(b"x" * 20_000, timeout=SECONDS)


def drain(pull: Pull, stop: threading.Event) -> None:
    while not stop.is_set():
        try:
            pull.recv(timeout=0.05)
        except SocketTimeoutError:
            continue
        except SocketError:
            return


def test_threads_that_send_and_receive_lose_nothing(address: str) -> None:
    with Push(buffer=4) as push, Pull(buffer=4) as pull:
        push.connect(pull.bind(address))
        found: list[bytes] = []

        def receive() -> None:
            for _ in range(500):
                found.append(pull.recv(timeout=SECONDS))  # noqa: PERF401

        def send(letter: bytes) -> None:
            for k in range(500):
                push.send(letter + b"%d" % k, timeout=SECONDS)

        threads = [threading.Thread(target=receive) for _ in range(4)]
        threads += [
            threading.Thread(target=send, args=(letter,)) for letter in (b"a", b"b", b"c", b"d")
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert sorted(found) == sorted(
        c + b"%d" % k for c in (b"a", b"b", b"c", b"d") for k in range(500)
    )


# -------- asyncio


def test_coroutines_send_and_receive(address: str) -> None:
    async def run() -> list[bytes]:
        with Push(buffer=1) as push, Pull(buffer=1) as pull:
            push.connect(pull.bind(address))
            bodies = [b"%d" % k + b"x" * 50_000 for k in range(60)]

            async def send() -> None:
                for body in bodies:
                    await push.asend(body, timeout=SECONDS)

            task = asyncio.create_task(send())
            found = [await pull.arecv(timeout=SECONDS) for _ in bodies]
            await task
            assert found == bodies
            return found

    assert len(asyncio.run(run())) == 60


def test_a_coroutine_that_is_cancelled_takes_and_sends_nothing(address: str) -> None:
    async def run() -> bytes:
        with Push() as push, Pull() as pull:
            url = pull.bind(address)
            sending = asyncio.create_task(push.asend(b"never"))
            receiving = asyncio.create_task(pull.arecv())
            await asyncio.sleep(0)
            for task in (sending, receiving):
                task.cancel()
            await asyncio.gather(sending, receiving, return_exceptions=True)
            push.connect(url)
            await push.asend(b"this", timeout=SECONDS)
            return await pull.arecv(timeout=SECONDS)

    assert asyncio.run(run()) == b"this"


def test_a_message_that_comes_as_its_receiver_is_cancelled_is_the_next_ones(address: str) -> None:
    async def run() -> bytes:
        with Push() as push, Pull() as pull:
            push.connect(pull.bind(address))
            receiving = asyncio.create_task(pull.arecv())
            await asyncio.sleep(0)
            push.send(b"this", timeout=SECONDS)
            while pull._waiting:  # the loop of coroutines stands still
                pass
            receiving.cancel()
            await asyncio.gather(receiving, return_exceptions=True)
            return await pull.arecv(timeout=SECONDS)

    assert asyncio.run(run()) == b"this"


def test_a_coroutine_that_waits_too_long_is_told_who_is_not_there() -> None:
    async def run() -> None:
        with Push() as push, Pull() as pull:
            with pytest.raises(SocketTimeoutError, match="found no endpoint"):
                await push.asend(b"", timeout=0.01)
            with pytest.raises(SocketTimeoutError, match="recv: nothing came within"):
                await pull.arecv(timeout=0.01)

    asyncio.run(run())


# -------- What is refused, and what must not harm


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("localhost:80", "allowed: tcp://HOST:PORT, tls+tcp://HOST:PORT or ipc://PATH"),
        ("udp://a:1", "address: found 'udp://a:1', allowed: tcp://HOST:PORT, tls+"),
        ("tcp://a", "address: found 'tcp://a', allowed: tcp://HOST:PORT"),
        ("tcp://a:99999", "found the port '99999' in 'tcp://a:99999', allowed: 1 to 65535"),
        ("tcp://a:" + "9" * 5000, "found the port '9999"),
        ("tcp://a:-1", "found the port '-1'"),
        ("tcp://::1:80", "allowed: an IPv6 address in brackets"),
        ("tcp://eth0;a:80", "found the host 'eth0;a'"),
        ("tcp://a b:80", "found the host 'a b'"),
        ("ipc://" + "x" * 200, "a path of 200 bytes"),
        (7, "address: found 7"),
    ],
)
def test_an_address_that_is_none_is_refused(url: Any, said: str) -> None:
    with Push() as push:
        for verb in (push.connect, push.bind):
            with pytest.raises(SocketError) as error:
                verb(url)
            assert said in str(error.value)


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("tcp://*:5000", "found no host in 'tcp://*:5000'"),
        ("tls+tcp://:5000", "found no host in 'tls+tcp://:5000'"),
        ("tcp://a:0", "found the port '0' in 'tcp://a:0', allowed: 1 to 65535"),
    ],
)
def test_where_nobody_can_be_nobody_connects(url: str, said: str) -> None:
    table = {"name": "A", "address": url}
    with Push() as push:
        with pytest.raises(SocketError, match=re.escape(said)):
            push.connect(url)
        with pytest.raises(SocketError, match=re.escape(said)):
            Push(Cluster.of("nanomsg", destination=[table]))
        assert push.endpoints() == []


def test_an_attribute_is_checked_by_the_policy_and_nothing_is_connected() -> None:
    with Push() as push, Pull() as pull:
        with pytest.raises(ConfigError, match="priority: found 17"):
            push.connect("tcp://127.0.0.1:1", priority=17)
        with pytest.raises(ConfigError, match="weight"):
            push.bind("tcp://127.0.0.1:0", weight=2)
        with pytest.raises(SocketError, match=r"priority: found 0, allowed: 1 \(best\) to 16"):
            pull.connect("tcp://127.0.0.1:1", priority=0)
        with pytest.raises(SocketError, match="endpoint: found 'weight', allowed"):
            pull.bind("tcp://127.0.0.1:0", weight=2)
        assert push.endpoints() == pull.endpoints() == []


def test_one_name_is_one_endpoint() -> None:
    with Push() as push:
        push.connect("tcp://127.0.0.1:1", name="a")
        with pytest.raises(SocketError, match="endpoint: found 'a' twice"):
            push.connect("tcp://127.0.0.1:2", name="a")
        with pytest.raises(SocketError, match="endpoint: found 'b', allowed: a"):
            push.disconnect("b")


def test_an_address_in_use_is_refused_by_name(address: str) -> None:
    with Push() as push, Pull() as pull:
        url = push.bind(address)
        with pytest.raises(SocketError, match="in use"):
            pull.bind(url)


def test_a_unix_socket_that_a_killed_process_left_is_taken_over(folder: Path) -> None:
    path = folder / "left"
    with closing(socket.socket(socket.AF_UNIX)) as killed:
        killed.bind(str(path))
    with Push() as push:
        push.bind(f"ipc://{path}")
    assert not path.exists()


@pytest.mark.parametrize(
    "garbage",
    [
        b"GET / HTTP/1.1\r\n\r\n",
        greeting(Protocol.PUSH),
        greeting(Protocol.REP),
        greeting(Protocol.PULL) + b"\xff" * 8,
        b"\0SP",
        b"",
    ],
)
def test_a_stranger_at_the_door_harms_nobody(garbage: bytes) -> None:
    with Push() as push, Pull() as pull:
        url = push.bind("tcp://127.0.0.1:0")
        pull.connect(url)
        until_up(push, f"{url}#1")
        with raw(url) as stranger:
            stranger.sendall(garbage)
            stranger.shutdown(socket.SHUT_WR)
            while stranger.recv(100):
                pass
        push.send(b"work", timeout=SECONDS)
        assert pull.recv(timeout=SECONDS) == b"work"


def test_a_message_that_is_too_long_ends_its_connection_only() -> None:
    with Pull(max_size=10) as pull, Push() as push:
        url = pull.bind("tcp://127.0.0.1:0")
        with raw(url) as peer:
            peer.sendall(greeting(Protocol.PUSH) + header(11) + b"x" * 11)
            while peer.recv(100):
                pass
        push.connect(url)
        push.send(b"0123456789", timeout=SECONDS)
        assert pull.recv(timeout=SECONDS) == b"0123456789"


def test_many_peers_at_one_endpoint_and_names_that_come_again() -> None:
    with Push() as push:
        url = push.bind("tcp://127.0.0.1:0")
        for _ in range(2):
            with ExitStack() as stack:
                for _ in range(30):
                    stack.enter_context(raw(url)).sendall(greeting(Protocol.PULL))
                until_up(push, *(f"{url}#{k + 1}" for k in range(30)))
            until_up(push)


# -------- Closing


def test_what_was_sent_goes_out_before_a_socket_is_closed(address: str) -> None:
    body = b"x" * 200_000
    with Pull() as pull:
        with Push() as push:
            push.connect(pull.bind(address))
            for _ in range(40):
                push.send(body, timeout=SECONDS)
        assert [pull.recv(timeout=SECONDS) for _ in range(40)] == [body] * 40


def test_whoever_waits_when_a_socket_is_closed_is_told() -> None:
    waiters: list[tuple[Any, Any, Any]] = [
        (Push(), lambda push: push.send(b""), lambda push: push._waiting.count),
        (Pull(), lambda pull: pull.recv(), lambda pull: pull._waiting),
    ]
    for one, wait, waiting in waiters:
        errors: list[Exception] = []

        def waits(socket_: Any = one, wait: Any = wait, errors: Any = errors) -> None:
            try:
                wait(socket_)
            except SocketError as error:
                errors.append(error)

        thread = threading.Thread(target=waits)
        thread.start()
        until(lambda one=one, waiting=waiting: waiting(one))
        one.close()
        thread.join()
        assert "the socket was closed" in str(errors[0])
        one.close()
        with pytest.raises(SocketError, match="found a closed socket"):
            wait(one)
        with pytest.raises(SocketError, match="found a closed socket"):
            one.connect("tcp://127.0.0.1:1")


def test_the_thread_ends_with_the_last_socket_and_no_file_is_left() -> None:
    def threads() -> list[str]:
        return [each.name for each in threading.enumerate() if each.name == "fairlead-sockets"]

    def files() -> int:
        return len([*Path("/proc/self/fd").iterdir()])

    until(lambda: not threads())
    before = files()
    with Push() as push, Pull() as pull:
        push.connect(pull.bind("tcp://127.0.0.1:0"))
        push.send(b"", timeout=SECONDS)
        pull.recv(timeout=SECONDS)
        assert threads() == ["fairlead-sockets"]
    until(lambda: not threads())
    until(lambda: files() == before)


def test_a_socket_is_refused_in_a_forked_process() -> None:
    script = (
        "import os, fairlead.sockets\n"
        "push = fairlead.sockets.Push()\n"
        "if os.fork() == 0:\n"
        "    try:\n"
        "        push.connect('tcp://127.0.0.1:1')\n"
        "    except fairlead.errors.SocketError as error:\n"
        "        print(error, flush=True)\n"
        "    with fairlead.sockets.Push() as own:\n"
        "        own.bind('tcp://127.0.0.1:0')\n"
        "    os._exit(0)\n"
        "os.wait()\n"
    )
    warned = ["-W", "ignore::DeprecationWarning"]  # newer Pythons advise against such forks
    command = [sys.executable, *warned, "-c", script]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60)
    assert "before this process was forked" in done.stdout
    assert not done.stderr


def test_a_dialer_finds_a_peer_that_comes_later_and_again() -> None:
    url = f"tcp://127.0.0.1:{free_port()}"
    with Push() as push:
        push.connect(url)
        until(lambda: push.endpoints()[0].trouble == "Connection refused")
        for _ in range(3):
            with Pull() as pull:
                pull.bind(url)
                push.send(b"hello", timeout=SECONDS)
                assert pull.recv(timeout=SECONDS) == b"hello"
            until_up(push)


def test_a_name_is_asked_for_and_one_that_is_not_known_is_said() -> None:
    with Push() as push, Pull() as pull:
        port = pull.bind("tcp://127.0.0.1:0").rpartition(":")[2]
        push.connect(f"tcp://localhost:{port}")
        push.send(b"hello", timeout=SECONDS)
        assert pull.recv(timeout=SECONDS) == b"hello"
        push.connect("tcp://nobody.invalid:1", name="nobody")
        until(lambda: push.endpoints()[-1].trouble.startswith("nobody.invalid: "))


def test_a_socket_is_closed_while_a_name_is_asked_for() -> None:
    for _ in range(20):
        with Push() as push:
            push.connect("tcp://nobody.invalid:1")
    until(lambda: "fairlead-names" not in [each.name for each in threading.enumerate()])


def test_many_names_are_asked_for_in_a_few_threads() -> None:
    with Push() as push:
        for k in range(100):
            push.connect(f"tcp://nobody{k}.invalid:1")
        names = [each.name for each in threading.enumerate()]
        assert names.count("fairlead-names") <= RESOLVERS
        until(lambda: any(each.trouble != "not connected yet" for each in push.endpoints()))


def test_an_endpoint_that_is_closed_is_not_connected_again(address: str) -> None:
    with Push() as push, Pull() as pull:
        push.connect(pull.bind(address), name="a")
        until_up(push, "a")
        push.disconnect("a")
        until(lambda: not [each for each in pull.endpoints() if each.state == "up"])
        assert push.endpoints() == []


def test_a_cluster_is_said_once() -> None:
    cluster = Cluster.of("nanomsg", destination=[{"name": "A", "address": "tcp://127.0.0.1:1"}])
    with Push(cluster) as push:
        assert [each.name for each in push.endpoints()] == ["A"]


def test_in_a_coroutine_sockets_are_closed_where_their_block_ends() -> None:
    async def main() -> bytes:
        async with Pull() as pull, Push() as push, Device():
            push.connect(pull.bind("tcp://127.0.0.1:0"))
            await push.asend(b"work", timeout=SECONDS)
            found = await pull.arecv(timeout=SECONDS)
        with pytest.raises(SocketError, match="found a closed socket"):
            await push.asend(b"more")
        return found

    assert asyncio.run(main()) == b"work"
