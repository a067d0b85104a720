"""TLS between our sockets and those of nng, both ways."""

import socket
import threading
from pathlib import Path

import pynng
import pytest

from fairlead import Cluster
from fairlead.errors import SocketError
from fairlead.sockets import Pull, Push, Rep, Req, tls
from fairlead.sockets.wire import Protocol, greeting
from tests.ports import free_port

from .identity import Identity, new_identity, with_password
from .waiting import until, until_up

SECONDS = 30
TIMEOUTS = {"recv_timeout": SECONDS * 1000, "send_timeout": SECONDS * 1000}


@pytest.fixture(scope="module")
def identity(tmp_path_factory: pytest.TempPathFactory) -> Identity:
    return new_identity(tmp_path_factory.mktemp("tls"))


def test_messages_of_all_sizes_go_through_tls_both_ways_at_once(identity: Identity) -> None:
    bodies = [b"x" * size for size in (0, 1, 5000, 70_000, 1 << 20)] * 3
    with Rep() as rep, Req() as req:
        url = rep.bind("tls+tcp://localhost:0", tls=identity.server)
        req.connect(url, tls=identity.client)
        serving = threading.Thread(target=rep.serve, args=(lambda body: body,))
        serving.start()
        found: list[bytes] = []

        def ask(body: bytes) -> None:
            found.append(req.request(body, timeout=SECONDS))

        asking = [threading.Thread(target=ask, args=(body,)) for body in bodies]
        for thread in asking:
            thread.start()
        for thread in asking:
            thread.join()
        assert sorted(found) == sorted(bodies)
        rep.close()
        serving.join()


def test_nng_pushes_and_pulls_through_tls(identity: Identity) -> None:
    config = pynng.TLSConfig
    server = config(
        config.MODE_SERVER,
        own_key_string=identity.key.read_text(),
        own_cert_string=identity.certificate.read_text(),
    )
    client = config(
        config.MODE_CLIENT,
        server_name="localhost",
        ca_string=identity.certificate.read_text(),
        auth_mode=config.AUTH_MODE_REQUIRED,
    )
    with Push() as push, pynng.Pull0(**TIMEOUTS) as pull:
        there = f"tls+tcp://localhost:{free_port()}"
        pull.tls_config = server
        pull.listen(there)
        push.connect(there, tls=identity.client)
        push.send(b"to nng", timeout=SECONDS)
        assert pull.recv() == b"to nng"
    with Pull() as ours, pynng.Push0(**TIMEOUTS) as theirs:
        here = ours.bind("tls+tcp://localhost:0", tls=identity.server)
        theirs.tls_config = client
        theirs.dial(here)
        theirs.send(b"from nng" * 10_000)
        assert ours.recv(timeout=SECONDS) == b"from nng" * 10_000


def test_a_peer_that_nobody_trusts_is_not_connected_and_it_is_said_why(identity: Identity) -> None:
    with Push() as push, Pull() as pull:
        url = pull.bind("tls+tcp://localhost:0", tls=identity.server)
        push.connect(url, name="stranger")
        until(lambda: "certificate verify failed" in push.endpoints()[0].trouble.lower())
        port = url.rpartition(":")[2]
        push.connect(f"tcp://localhost:{port}", name="plain")
        push.connect(url, name="friend", tls=identity.client)
        until_up(push, "friend")
        push.send(b"work", timeout=SECONDS)
        assert pull.recv(timeout=SECONDS) == b"work"


def test_tls_where_it_means_nothing_and_none_where_it_is_needed_are_refused(
    identity: Identity,
) -> None:
    with Push() as push:
        with pytest.raises(SocketError, match="found no tls, allowed: one with a certificate"):
            push.bind("tls+tcp://localhost:0")
        with pytest.raises(SocketError, match="tls: found one for tcp://localhost:1"):
            push.connect("tcp://localhost:1", tls=identity.client)
        for call, found in (
            (push.bind, identity.client),
            (push.connect, identity.server),
            (push.connect, "cert.pem"),
        ):
            with pytest.raises(SocketError, match=r"tls: found .*, allowed: an ssl\.SSLContext of"):
                call("tls+tcp://localhost:1", tls=found)
        with pytest.raises(SocketError, match="tls: found 'PROTOCOL_TLS_SERVER', allowed"):
            Push(tls=identity.server)
        assert push.endpoints() == []


def test_files_make_contexts_and_a_cluster_is_connected_with_one(identity: Identity) -> None:
    with Pull() as pull:
        there = tls.identity(str(identity.certificate), str(identity.key))
        table = {"name": "A", "address": pull.bind("tls+tcp://localhost:0", tls=there)}
        cluster = Cluster.of("nanomsg", name="pool", destination=[table])
        with Push(cluster, tls=tls.authority(str(identity.certificate))) as push:
            push.send(b"work", timeout=SECONDS)
            assert pull.recv(timeout=SECONDS) == b"work"


def test_files_that_make_no_context_are_refused_in_a_line(
    identity: Identity, tmp_path: Path
) -> None:
    (tmp_path / "other").mkdir()
    other = new_identity(tmp_path / "other")
    both = tmp_path / "both.pem"
    both.write_text(identity.certificate.read_text() + identity.key.read_text())
    assert tls.identity(both)
    locked = with_password(identity.key, tmp_path / "locked.pem")
    none = tmp_path / "none.pem"
    none.write_text("nothing")
    missing = tmp_path / "missing.pem"
    refused = [
        (identity.certificate, other.key, f"{other.key}: found the key of another certificate"),
        (identity.certificate, None, "found no certificate and key, allowed: both in PEM"),
        (none, identity.key, "found no certificate and key"),
        (identity.certificate, locked, "without a password"),
        (missing, identity.key, "missing.pem: No such file or directory, allowed: a file in PEM"),
        (identity.certificate, tmp_path, f"{tmp_path}: Is a directory"),
    ]
    secret = identity.key.read_text().splitlines()[1]
    for certificate, key, said in refused:
        with pytest.raises(SocketError) as found:
            tls.identity(certificate, key)
        assert said in str(found.value)
        assert "\n" not in str(found.value)
        assert secret not in str(found.value)
    with pytest.raises(SocketError, match=r"none\.pem: found no certificate"):
        tls.authority(none)
    with pytest.raises(SocketError, match="tls: found 5, allowed: the path of a file in PEM"):
        tls.authority(5)  # type: ignore[arg-type]
    with pytest.raises(SocketError, match=r"missing\.pem: No such file"):
        tls.authority(missing)


def test_every_peer_that_shakes_hands_is_greeted(identity: Identity) -> None:
    """Also where its last word of TLS comes just after this side found that it had to wait."""
    with Pull() as pull:
        port = int(pull.bind("tls+tcp://localhost:0", tls=identity.server).rpartition(":")[2])
        for _ in range(100):
            with (
                socket.create_connection(("localhost", port), timeout=SECONDS) as plain,
                identity.client.wrap_socket(plain, server_hostname="localhost") as peer,
            ):
                peer.sendall(greeting(Protocol.PUSH))
                assert peer.recv(len(greeting(Protocol.PULL))) == greeting(Protocol.PULL)
