"""A service is reached under TLS and with a login; what is secret stays in its file."""

import base64
import logging
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from fairlead import Store, load_clusters
from fairlead.errors import ConfigError
from fairlead.forward.target import ForwardFile, check_file
from tests.forward.forwarding import forwarding, written
from tests.forward.services import Reply, Service, serving, until
from tests.forward.test_http import dead, farm
from tests.sockets.identity import Identity, new_identity

SECRET = "hush-hush-17"  # noqa: S105 - of a test


@pytest.fixture(params=["sqlite"])
def dialect(request: pytest.FixtureRequest) -> str:
    found: str = request.param
    return found


@pytest.fixture(scope="module")
def identity(tmp_path_factory: pytest.TempPathFactory) -> Identity:
    return new_identity(tmp_path_factory.mktemp("identity"))


@pytest.fixture
def secured(identity: Identity) -> Iterator[Service]:
    with serving(
        Service(), ssl_certfile=str(identity.certificate), ssl_keyfile=str(identity.key)
    ) as found:
        yield found


def test_a_service_under_tls_gets_messages_if_its_signer_is_trusted(
    url: str, store: Store, secured: Service, identity: Identity, tmp_path: Path
) -> None:
    (tmp_path / "ca.pem").write_bytes(identity.certificate.read_bytes())
    path = farm(tmp_path, secured.url, "[forward]", 'ca = "ca.pem"')
    with forwarding(url, path):
        store.publish("farm", "x")
        until(lambda: secured.bodies() == ["x"])


def test_a_certificate_that_nobody_trusts_is_a_failure(
    url: str, store: Store, secured: Service, tmp_path: Path
) -> None:
    store.declare(
        written(tmp_path / "queues.toml", ["[[queue]]", 'name = "A"', "max_failures = 1"])
    )
    with forwarding(url, farm(tmp_path, secured.url)):
        store.publish("farm", "x")
        until(lambda: bool(store.dead("A")))
    assert "CERTIFICATE_VERIFY_FAILED" in dead(store)[0][1]
    assert secured.asked == []


def test_we_show_a_certificate_of_our_own(
    url: str, store: Store, identity: Identity, tmp_path: Path
) -> None:
    ours = new_identity(tmp_path)
    with serving(
        Service(),
        ssl_certfile=str(identity.certificate),
        ssl_keyfile=str(identity.key),
        ssl_ca_certs=str(ours.certificate),
        ssl_cert_reqs=2,
    ) as service:
        path = farm(
            tmp_path,
            service.url,
            "[forward]",
            f'ca = "{identity.certificate}"',
            "[[forward.to]]",
            'name = "A"',
            f'certificate = "{ours.certificate.name}"',
            f'key = "{ours.key.name}"',
        )
        with forwarding(url, path):
            store.publish("farm", "x")
            until(lambda: service.bodies() == ["x"])


def test_a_password_and_a_token_are_said_and_stand_nowhere(
    url: str,
    store: Store,
    service: Service,
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.DEBUG, "fairlead")
    (tmp_path / "password").write_text(f"{SECRET}\n")
    (tmp_path / "token").write_text(f"{SECRET}\n")
    path = farm(
        tmp_path,
        f"{service.url}/a",
        *("[[destination]]", 'name = "B"', f'address = "{service.url}/b"'),
        *("[forward]", 'user = "us"', 'password_file = "password"'),
        *("[[forward.to]]", 'name = "B"', 'token_file = "token"'),
    )
    service.says = lambda asked: (
        Reply(500, headers={"retry-after": "0"}) if len(service.asked) < 4 else Reply()
    )
    with forwarding(url, path):
        store.publish("farm", "x")
        store.publish("farm", "x")
        until(lambda: len(service.asked) >= 5)
    said = {asked.path: asked.headers["authorization"] for asked in service.asked}
    basic = base64.b64encode(f"us:{SECRET}".encode()).decode()
    assert said == {"/a": f"Basic {basic}", "/b": f"Bearer {SECRET}"}
    everything = caplog.text + "".join(str(event) for event in store.journal())
    assert SECRET not in everything
    assert basic not in everything


def test_a_token_that_is_renewed_is_read_again(
    url: str, store: Store, service: Service, tmp_path: Path
) -> None:
    token = tmp_path / "token"
    token.write_text("one")
    path = farm(tmp_path, service.url, "[forward]", 'token_file = "token"')
    service.says = lambda asked: (
        Reply() if asked.headers["authorization"] == "Bearer two" else Reply(429)
    )
    store.declare(
        written(
            tmp_path / "queues.toml",
            [
                "[[queue]]",
                'name = "A"',
                "max_failures = 0",
                "[queue.retry]",
                "base = 0.1",
                "factor = 1",
            ],
        )
    )
    with forwarding(url, path):
        store.publish("farm", "x")
        until(lambda: bool(service.asked))
        time.sleep(0.01)
        token.write_text("two")
        until(lambda: [queue.messages for queue in store.queues()] == [0])


@pytest.mark.parametrize(
    ("address", "more", "line"),
    [
        (
            "https://us:hush-hush-17@x/y",
            [],
            "farm.toml:4: destination[1] 'A'.address: found 'https://***@x/y', which says who logs",
        ),
        ("ftp://x/y", [], "'A': address: found 'ftp://x/y', allowed: http://, https://, amqp"),
        ("http://", [], "address: found 'http://', allowed: http://HOST[:PORT]/PATH"),
        ("http://x:99999/", [], "address: found 'http://x:99999/', allowed: http://HOST"),
        ("http://x/a b", [], "address: found 'http://x/a b', allowed: http://HOST"),
        ("machine-1", [], "found no destination outside, allowed: at least one [[destination]]"),
        ("http://x/", ["[forward]", "timeout = 0"], ":6: forward.timeout: found 0, allowed: sec"),
        ("http://x/", ["[forward]", 'user = "u"'], ":6: forward.user: found it alone, allowed: u"),
        (
            "http://x/",
            ["[[forward.to]]", 'name = "C"'],
            "cluster 'farm': forward.to: found 'C', allowed: A",
        ),
        ("http://x/", ["[forward]", "timout = 3"], "forward.timout: found an unknown key"),
    ],
)
def test_a_file_is_refused_in_one_line(
    tmp_path: Path, address: str, more: list[str], line: str
) -> None:
    path = farm(tmp_path, address, *more)
    with pytest.raises(ConfigError) as found:
        check_file(ForwardFile(path, load_clusters(path)))
    assert line in str(found.value)
    assert "\n" not in str(found.value)
    assert SECRET not in str(found.value)


@pytest.mark.parametrize(
    ("address", "more", "line"),
    [
        (
            "https://x/",
            ["[forward]", 'ca = "no.pem"'],
            "no.pem: No such file or directory, allowed",
        ),
        ("https://x/", ["[forward]", 'ca = "farm.toml"'], "farm.toml: found no certificate, allow"),
        ("https://x/", ["[forward]", 'token_file = "no"'], "no: no such file"),
        (
            "http://example.com/",
            ["[forward]", 'token_file = "farm.toml"'],
            "destination A@farm: address: found 'http://example.com/', where a token could be read",
        ),
    ],
)
def test_files_that_cannot_be_used_are_refused_at_the_start(
    url: str, store: Store, tmp_path: Path, address: str, more: list[str], line: str
) -> None:
    path = farm(tmp_path, address, *more)
    with pytest.raises(ConfigError) as found, forwarding(url, path):
        pass
    assert line in str(found.value)


def test_two_destinations_of_one_queue_are_refused(url: str, store: Store, tmp_path: Path) -> None:
    path = farm(
        tmp_path,
        "http://x/",
        'queue = "q"',
        *("[[destination]]", 'name = "B"', 'queue = "q"', 'address = "http://y/"'),
    )
    with (
        pytest.raises(ConfigError, match="found the queue 'q' at A@farm and at B@farm"),
        forwarding(url, path),
    ):
        pass
