"""Every policy behind a socket: it chooses as the live balancer does, or is refused at once."""

from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from fairlead import Balancer, Cluster
from fairlead.errors import ConfigError, SocketTimeoutError
from fairlead.sockets import Device, Pull, Push, Rep, Req
from golden_cases import POLICIES, cases

from .test_push_pull import SECONDS, sent
from .waiting import until, until_up

TO_ALL = {
    "policy": {"eliminate": ["down"], "choose": "everyone"},
    "destination": [{"name": "A"}, {"name": "B"}],
}
REFUSED = {
    "broadcast": {**TO_ALL, "policy": "broadcast"},
    "ibm-mq": cases("ibm-mq")[0].cluster,
    "smartsockets": cases("smartsockets")[0].cluster,
}
WEIGHTED = {"msmq", "weighted"}
COMPOSED = {"eliminate": ["down"], "choose": "circular"}


def tables(policy: str, urls: dict[str, str]) -> dict[str, Any]:
    weights = dict(zip(urls, (1, 2, 3), strict=True))
    return {
        "policy": COMPOSED if policy == "composed" else policy,
        "destination": [
            {"name": name, "address": url}
            | ({"weight": weights[name]} if policy in WEIGHTED else {})
            for name, url in urls.items()
        ],
    }


@pytest.mark.parametrize("policy", sorted({*POLICIES} - {*REFUSED}))
def test_peers_get_what_the_live_balancer_gives_them(policy: str) -> None:
    with ExitStack() as stack:
        pulls = {name: stack.enter_context(Pull()) for name in "ABC"}
        urls = {name: pull.bind("tcp://127.0.0.1:0") for name, pull in pulls.items()}
        cluster = Cluster.from_dict(tables(policy, urls), default_name="pool")
        push = stack.enter_context(Push(cluster))
        until_up(push, *"ABC")
        balancer, chosen = Balancer([cluster]), []
        for k in range(12):
            message = {"group": f"g{k}"}
            before = sent(push)
            push.send(b"%d" % k, timeout=SECONDS, message=message)
            (name,) = sent(push) - before
            assert pulls[name].recv(timeout=SECONDS) == b"%d" % k
            decision = balancer.choose(message)
            balancer.completed(decision)
            chosen.append((name, decision.destination))
        assert [name for name, _ in chosen] == [name for _, name in chosen]


@pytest.mark.parametrize(("name", "plain"), [*REFUSED.items(), ("composed", TO_ALL)])
def test_a_policy_that_chooses_no_single_destination_is_refused_when_a_socket_is_made(
    name: str, plain: dict[str, Any]
) -> None:
    cluster = Cluster.from_dict(plain, default_name="pool")
    for made in (Push, Req, Device):
        with pytest.raises(ConfigError, match=f"^policy: found '{name}', allowed: one that") as no:
            made(cluster)
    allowed = str(no.value).partition("[[destination]] tables: ")[2]
    assert {*allowed.split(", ")} == {*POLICIES} - {*REFUSED, "composed"}


def test_a_refused_policy_names_the_file(tmp_path: Path) -> None:
    file = tmp_path / "pool.toml"
    file.write_text('policy = "broadcast"\n[[destination]]\nname = "tcp://127.0.0.1:1"\n')
    with pytest.raises(ConfigError, match=f"^{file}: policy: found 'broadcast'"):
        Req.from_cluster(file)


def sent_until_busy(push: Push, body: bytes) -> int:
    number = 0
    while True:
        try:
            push.send(body, timeout=0.2)
        except SocketTimeoutError as error:
            assert "A busy" in str(error)  # noqa: PT017 - it says when to stop
            return number
        number += 1


def test_under_msmq_a_peer_that_is_full_waits_and_goes_on() -> None:
    with Pull(buffer=1, max_size=1 << 23) as pull:
        at = {"name": "A", "weight": 1, "address": pull.bind("tcp://127.0.0.1:0")}
        cluster = Cluster.of("msmq", destination=[at])
        with Push(cluster, buffer=1, max_size=1 << 23) as push:
            until_up(push, "A")
            for _ in range(sent_until_busy(push, bytes(1 << 23))):
                assert len(pull.recv(timeout=SECONDS)) == 1 << 23
            push.send(b"more", timeout=SECONDS)
            assert pull.recv(timeout=SECONDS) == b"more"


@pytest.mark.parametrize("socket", [Push, Req])
def test_the_states_say_why_a_peer_that_is_connected_gets_nothing(socket: type[Push | Req]) -> None:
    with Pull() as pull, Rep() as rep:
        url = (pull if socket is Push else rep).bind("tcp://127.0.0.1:0")
        said = {"off": {"enabled": False}, "going": {"draining": True}, "none": {"weight": 0}}
        destination = [{"weight": 1, **each, "name": n, "address": url} for n, each in said.items()]
        with socket(Cluster.of("weighted", destination=destination)) as sender:
            wanted = {"off": "disabled", "going": "drained", "none": "weight-zero"}
            until(lambda: {each.name: each.state for each in sender.endpoints()} == wanted)
            send = sender.send if isinstance(sender, Push) else sender.request
            with pytest.raises(SocketTimeoutError) as late:
                send(b"", timeout=0.01)
    line = str(late.value)
    assert "off disabled (enabled is false), going drained (draining is true), none weight-" in line
