"""A cluster file that is changed while a socket runs."""

from contextlib import ExitStack
from typing import Any

import pytest

from fairlead import Cluster
from fairlead.errors import ChangeError, ConfigError, SocketError
from fairlead.sockets import Pull, Push

from .test_push_pull import SECONDS, sent
from .waiting import until_up


def cluster(**tables: dict[str, Any]) -> Cluster:
    destinations = [{"name": name, **table} for name, table in tables.items()]
    return Cluster.of("nanomsg", name="pool", destination=destinations)


def test_who_is_new_is_connected_who_is_gone_is_not_and_who_stays_keeps_its_turn() -> None:
    with ExitStack() as stack:
        pulls = {name: stack.enter_context(Pull()) for name in "ABC"}
        at = {name: {"address": pull.bind("tcp://127.0.0.1:0")} for name, pull in pulls.items()}
        push = stack.enter_context(Push(cluster(A=at["A"], B=at["B"])))
        until_up(push, *"AB")
        push.send(b"", timeout=SECONDS)
        push.follow(cluster(B=at["B"], C=at["C"]))
        until_up(push, *"BC")
        for _ in range(4):
            push.send(b"", timeout=SECONDS)
        assert sent(push) == {"B": 2, "C": 2}  # nothing is kept of who is gone
        push.follow(cluster(A=at["A"], B=at["B"], C={**at["C"], "present": False}))
        until_up(push, *"AB")
        push.follow(cluster(A=at["B"]))  # at another address
        until_up(push, "A")
        push.send(b"", timeout=SECONDS)
        assert pulls["B"].recv(timeout=SECONDS) == b""
        assert sent(push) == {"A": 1}
        assert push.cluster is not None


def test_a_capacity_is_changed_and_what_cannot_be_is_refused_with_all_else() -> None:
    with Pull() as pull, Pull() as other:
        at = {"address": pull.bind("tcp://127.0.0.1:0"), "priority": 1}
        more = {"address": other.bind("tcp://127.0.0.1:0")}
        plain = {"name": "A", "address": at["address"]}
        with Push(cluster(A=at), journal=True) as push:
            until_up(push, "A")
            push.follow(cluster(A={**at, "capacity": 3}))
            changes = [(c["attribute"], c["value"]) for c in push.recorded().changes]
            assert changes[-1] == ("capacity", 3)
            with pytest.raises(ChangeError, match="keeps the priority it was added with"):
                push.follow(cluster(A={**at, "priority": 2}, B=more))
            with pytest.raises(SocketError, match=r"^destination 'B': address: found 'there'"):
                push.follow(cluster(A={**at, "capacity": 9}, B={"address": "there"}))
            with pytest.raises(
                SocketError, match=r"^destination 'B': address: found none, allowed"
            ):
                push.follow(cluster(A={**at, "capacity": 9}, B={}))
            with pytest.raises(ConfigError, match="found another policy than before"):
                push.follow(Cluster.of("round-robin", name="pool", destination=[plain]))
            until_up(push, "A")
            assert not push.recorded().changes


def test_an_endpoint_that_was_disconnected_comes_back_as_it_was() -> None:
    with Push(journal=True) as push, Pull() as pull:
        url = pull.bind("tcp://127.0.0.1:0")
        push.connect(url, name="A", priority=3)
        until_up(push, "A")
        push.disconnect("A")
        with pytest.raises(SocketError, match="allowed: as it was before"):
            push.connect(url, name="A", priority=4)
        push.connect(url, name="A", priority=3)
        until_up(push, "A")
        push.send(b"again", timeout=SECONDS)
        assert pull.recv(timeout=SECONDS) == b"again"
