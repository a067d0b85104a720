"""What waits for a destination at a URL leaves for it, and what the service answers counts."""

import json
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from pathlib import Path
from typing import Any

import pytest

from fairlead import Store
from tests.forward.forwarding import forwarding, written
from tests.forward.services import Reply, Service, hanging, serving, until
from tests.ports import free_port


def farm(folder: Path, address: str, *more: str, policy: str = "round-robin") -> Path:
    return written(
        folder / "farm.toml",
        [f'policy = "{policy}"', "[[destination]]", 'name = "A"', f'address = "{address}"', *more],
    )


def dead(store: Store) -> list[tuple[str, str]]:
    return [(letter.id, letter.reason) for letter in store.dead("A")]


def is_empty(store: Store) -> bool:
    """Whether nothing waits and nothing is under way, and something was there."""
    return [queue.messages for queue in store.queues() if queue.queue == "A"] == [0]


def test_a_message_is_a_request_that_says_what_it_is(
    url: str, store: Store, service: Service, tmp_path: Path
) -> None:
    path = farm(tmp_path, f"{service.url}/orders?from=us")
    with forwarding(url, path):
        store.publish("farm", {"a": [1, "ä"]}, group="Zoë 50%", id="o-1", type="Order", tenant="t")
        store.publish("farm", "naïve", id="o-2")
        store.publish("farm", b"\x00\xff", id="o-3")
        until(lambda: len(service.asked) == 3 and is_empty(store))
    asked = {each.headers["idempotency-key"]: each for each in service.asked}
    assert {each.path for each in service.asked} == {"/orders?from=us"}
    one = asked["o-1"].headers
    assert json.loads(asked["o-1"].body) == {"a": [1, "ä"]}
    assert one["content-type"] == "application/json"
    assert (one["fairlead-group"], one["fairlead-type"]) == ("Zo%C3%AB%2050%25", "Order")
    assert (one["fairlead-tenant"], one["fairlead-attempt"]) == ("t", "1")
    assert "fairlead-priority" not in one
    assert asked["o-2"].body.decode() == "naïve"
    assert asked["o-2"].headers["content-type"] == "text/plain; charset=utf-8"
    assert "fairlead-group" not in asked["o-2"].headers
    assert asked["o-3"].body == b"\x00\xff"
    assert asked["o-3"].headers["content-type"] == "application/octet-stream"
    assert [event.kind for event in store.journal(queue="A", id="o-1")][-1] == "accepted"


def test_a_priority_is_said(url: str, store: Store, service: Service, tmp_path: Path) -> None:
    declared = written(
        tmp_path / "queues.toml", ["[[queue]]", 'name = "A"', 'discipline = "priority"']
    )
    store.declare(declared)
    store.load_clusters(farm(tmp_path, service.url))
    store.publish("farm", "x", group="g", priority=7)
    with forwarding(url, tmp_path / "farm.toml"):
        until(lambda: bool(service.asked))
    assert service.asked[0].headers["fairlead-priority"] == "7"


def test_a_group_keeps_its_order_and_no_more_than_readers_are_under_way(
    url: str, store: Store, service: Service, tmp_path: Path
) -> None:
    service.says = lambda asked: Reply(seconds=0.01)
    path = farm(tmp_path, service.url, "readers = 3")
    store.load_clusters(path)
    for number in range(60):
        store.publish("farm", f"{number % 6}:{number}", group=f"g{number % 6}")
    with forwarding(url, path):
        until(lambda: len(service.asked) >= 60 and is_empty(store))
    for group in range(6):
        own = [int(body.split(":")[1]) for body in service.bodies() if body.startswith(f"{group}:")]
        assert own == sorted(own)
        assert len(own) == 10
    assert service.most_at_once == 3


@pytest.mark.parametrize("status", [408, 425, 429, 500, 503])
def test_these_are_tried_again_with_the_same_key_and_delay_of_the_queue(
    store: Store, url: str, service: Service, tmp_path: Path, status: int
) -> None:
    declared = written(
        tmp_path / "queues.toml",
        ["[[queue]]", 'name = "A"', "[queue.retry]", "base = 0.05", "factor = 1"],
    )
    store.declare(declared)
    service.says = lambda asked: Reply(status if len(service.asked) < 3 else 204)
    path = farm(tmp_path, service.url)
    with forwarding(url, path):
        store.publish("farm", "x", id="o-1")
        until(lambda: len(service.asked) == 3 and is_empty(store))
    assert service.keys() == ["o-1"] * 3
    assert [each.headers["fairlead-attempt"] for each in service.asked] == ["1", "2", "3"]
    kinds = [event.kind for event in store.journal(queue="A")]
    assert kinds.count("released") == 2
    assert dead(store) == []


def test_after_max_failures_it_is_a_dead_letter_with_the_beginning_of_the_answer(
    url: str, store: Store, service: Service, tmp_path: Path
) -> None:
    store.declare(
        written(
            tmp_path / "queues.toml",
            ["[[queue]]", 'name = "A"', "max_failures = 2", "[queue.retry]", "base = 0.01"],
        )
    )
    service.says = lambda asked: Reply(502, b"no upstream\nat all")
    with forwarding(url, farm(tmp_path, service.url)):
        store.publish("farm", "x", id="o-1")
        until(lambda: bool(store.dead("A")))
    ((key, reason),) = dead(store)
    assert key == "o-1"
    assert "502: no upstream\\nat all" in reason
    assert len(service.asked) == 2


def test_another_4xx_is_a_dead_letter_at_once_and_what_follows_it_goes_on(
    url: str, store: Store, service: Service, tmp_path: Path
) -> None:
    service.says = lambda asked: Reply(422, b"y" * 5000) if asked.body == b"bad" else Reply()
    path = farm(tmp_path, service.url)
    store.load_clusters(path)
    for body in ("one", "bad", "two"):
        store.publish("farm", body, group="g", id=body)
    with forwarding(url, path):
        until(lambda: len(service.asked) == 3 and is_empty(store))
    assert service.bodies() == ["one", "bad", "two"]
    assert dead(store) == [("bad", "422: " + "y" * 1024)]


def test_the_messages_before_one_that_fails_are_not_sent_again(
    url: str, store: Store, service: Service, tmp_path: Path
) -> None:
    service.says = lambda asked: Reply(
        503 if asked.body == b"2" and service.bodies().count("2") < 2 else 200,
        headers={"retry-after": "0"},
    )
    path = farm(tmp_path, service.url)
    store.load_clusters(path)
    for number in range(4):
        store.publish("farm", str(number), group="g")
    with forwarding(url, path):
        until(lambda: len(service.asked) == 5 and is_empty(store))
    assert service.bodies() == ["0", "1", "2", "2", "3"]


def later(seconds: int) -> str:
    return format_datetime(datetime.now(UTC) + timedelta(seconds=seconds), usegmt=True)


@pytest.mark.costly
@pytest.mark.parametrize("dated", [False, True])
def test_the_pause_that_a_service_asks_for_is_kept(
    url: str, store: Store, service: Service, tmp_path: Path, dated: bool
) -> None:
    service.says = lambda asked: (
        Reply(503, headers={"retry-after": later(2) if dated else "1"})
        if len(service.asked) == 1
        else Reply()
    )
    with forwarding(url, farm(tmp_path, service.url)):
        store.publish("farm", "x")
        until(lambda: len(service.asked) == 2)
    assert 0.9 <= service.asked[1].at - service.asked[0].at < 6


@pytest.mark.slow
def test_a_lease_is_made_longer_while_a_service_thinks(
    url: str, store: Store, service: Service, tmp_path: Path
) -> None:
    service.says = lambda asked: Reply(seconds=2.5)
    with forwarding(url, farm(tmp_path, service.url, "readers = 2"), lease=0.8):
        for key in ("o-1", "o-2", "o-3"):
            store.publish("farm", key, id=key)
        until(lambda: is_empty(store))
    assert sorted(service.keys()) == ["o-1", "o-2", "o-3"]
    assert {asked.headers["fairlead-attempt"] for asked in service.asked} == {"1"}


@pytest.mark.parametrize("how", ["nobody", "hangs", "slow", "cut"])
def test_no_whole_answer_in_time_is_a_failure(
    url: str, store: Store, service: Service, tmp_path: Path, how: str
) -> None:
    store.declare(
        written(tmp_path / "queues.toml", ["[[queue]]", 'name = "A"', "max_failures = 1"])
    )
    replies = {"slow": Reply(seconds=5), "cut": Reply(body=b"half", cut=True)}
    service.says = lambda asked: replies[how]
    with hanging() as silent:
        ports = {"nobody": free_port(), "hangs": silent}
        address = f"http://127.0.0.1:{ports.get(how, service.port)}/x"
        path = farm(tmp_path, address, "[forward]", "timeout = 0.3")
        with forwarding(url, path):
            store.publish("farm", "x", id="o-1")
            until(lambda: bool(store.dead("A")))
    ((_, reason),) = dead(store)
    expected = {
        "nobody": "ConnectError",
        "hangs": "no whole answer within 0.3 s",
        "slow": "no whole answer within 0.3 s",
        "cut": "RemoteProtocolError",
    }
    assert expected[how] in reason


def test_an_answer_becomes_a_message_with_what_was_answered(
    url: str, store: Store, service: Service, tmp_path: Path
) -> None:
    answers: dict[str, Reply] = {
        "data": Reply(200, b'{"total": 7}', {"content-type": "application/json"}),
        "text": Reply(
            200, "grün".encode("latin-1"), {"content-type": "text/plain; charset=latin-1"}
        ),
        "bytes": Reply(201, b"\x00\x01", {"content-type": "image/png"}),
        "broken": Reply(200, b"{", {"content-type": "application/json"}),
    }
    service.says = lambda asked: answers[asked.body.decode()]
    path = farm(tmp_path, service.url, "[forward]", 'reply_to = "answers"')
    with forwarding(url, path):
        for name in answers:
            store.publish("farm", name, group="g", id=name)
        until(lambda: is_empty(store))
    work = store.take("answers")
    assert work is not None
    found: dict[str, Any] = {message.id: (message.type, message.body) for message in work}
    assert work.group == "g"
    assert found == {
        "data:A": ("answer", {"total": 7}),
        "text:A": ("answer", "grün"),
        "bytes:A": ("answer", b"\x00\x01"),
        "broken:A": ("answer", b"{"),
    }


def test_an_answer_that_finds_no_room_is_a_failure_and_nothing_is_lost(
    url: str, store: Store, service: Service, tmp_path: Path
) -> None:
    store.declare(
        written(
            tmp_path / "queues.toml",
            [
                *("[[queue]]", 'name = "answers"', "max_waiting = 1", "[[queue]]", 'name = "A"'),
                *("max_failures = 0", "[queue.retry]", "base = 0.1", "factor = 1"),
            ],
        )
    )
    service.says = lambda asked: Reply(200, asked.body, {"content-type": "text/plain"})
    path = farm(tmp_path, service.url, "[forward]", 'reply_to = "answers"')
    found = []
    with forwarding(url, path):
        for key in ("o-1", "o-2"):
            store.publish("farm", key, id=key)
        until(lambda: len(service.asked) >= 3)
        while len(found) < 2:
            if work := store.take("answers", wait=5):
                with work:
                    found += [message.body for message in work]
        until(lambda: is_empty(store))
    assert sorted(found) == ["o-1", "o-2"]
    details = [event.detail or "" for event in store.journal(queue="A", kind="released")]
    assert any("its answer could not be sent: " in detail for detail in details)


def test_the_proxy_of_the_environment_is_used(
    url: str, store: Store, service: Service, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HTTP_PROXY", service.url)
    monkeypatch.setenv("NO_PROXY", "")
    with forwarding(url, farm(tmp_path, "http://nowhere.invalid/orders")):
        store.publish("farm", "x")
        until(lambda: service.bodies() == ["x"])
    assert service.asked[0].headers["host"] == "nowhere.invalid"


def test_a_redirect_is_followed_at_the_same_service_alone(
    url: str, store: Store, service: Service, tmp_path: Path
) -> None:
    store.declare(
        written(tmp_path / "queues.toml", ["[[queue]]", 'name = "A"', "max_failures = 1"])
    )
    with serving(Service()) as other:
        targets = {
            "here": Reply(307, headers={"location": "/there"}),
            "away": Reply(308, headers={"location": f"{other.url}/there"}),
            "get": Reply(302, headers={"location": "/there"}),
            "round": Reply(307, headers={"location": "/"}),
        }
        service.says = lambda asked: (
            Reply() if asked.path == "/there" else targets[asked.body.decode()]
        )
        with forwarding(url, farm(tmp_path, service.url)):
            for name in targets:
                store.publish("farm", name, id=name)
            until(lambda: len(store.dead("A")) == 3 and is_empty(store))
        assert other.asked == []
    assert [each.body for each in service.asked if each.path == "/there"] == [b"here"]
    reasons = dict(dead(store))
    assert f"a redirect (308) to http://127.0.0.1:{other.port}" in reasons["away"]
    assert "a redirect (302)" in reasons["get"]
    assert "more than 5 redirects" in reasons["round"]


def test_completions_tell_the_policy_who_is_free(
    url: str, store: Store, service: Service, tmp_path: Path
) -> None:
    path = farm(
        tmp_path,
        f"{service.url}/a",
        *("[[destination]]", 'name = "B"', f'address = "{service.url}/b"'),
        policy="fewest-pending",
    )
    service.says = lambda asked: Reply(seconds=30 if asked.path == "/a" else 0)
    with forwarding(url, path, grace=0):
        chosen = []
        for _ in range(6):
            chosen.append(store.publish("farm", "x").destination)
            until(lambda: len(service.asked) == len(chosen))
            until(lambda: sum(q.messages for q in store.queues() if q.queue == "B") == 0)
    assert chosen.count("B") >= 4
