"""Programs of other people's clients get the answers that stand in `clients/answers.toml`.

Each client is what its users install: Qpid JMS, go-amqp and rhea. What a server does not do, it
refuses when it is asked for it, in words that the client's user can read.
"""

from __future__ import annotations

import subprocess
import tomllib
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from fairlead import Cluster, Store
from fairlead.config.serving import ServingFile
from fairlead.serve.access import Access
from tests import peers
from tests.serve.serving import Served, serving
from tests.stores import copied_url, made_url

HERE = Path(__file__).parent / "clients"
ANSWERS: dict[str, dict[str, str]] = tomllib.loads((HERE / "answers.toml").read_text("utf-8"))
NEWS = Cluster.of("smartsockets", name="news", options={"subscribers": "any"})
LONGEST = 300  # seconds for all cases of a program


@pytest.fixture(scope="module", params=["sqlite", "postgresql"])
def served(request: pytest.FixtureRequest) -> Iterator[Served]:
    url = made_url("sqlite") if request.param == "sqlite" else copied_url()
    with Store.open(url) as store:
        store.keep_clusters([NEWS])
        with serving(store, access=Access(ServingFile(raised_by_priority=["urgent"]))) as found:
            yield found


def printed(client: str, at: str) -> str:
    if client == "jms":
        with TemporaryDirectory() as classes:
            program = peers.java_with_jms(HERE / "jms", Path(classes))
            return output_of([*program, f"amqp://{at}"])
    if client == "go":
        return output_of([peers.go_answers(), f"amqp://{at}"])
    node, environment = peers.node_with_rhea()
    return output_of([node, str(HERE / "answers.js"), at.partition(":")[2]], environment)


def output_of(line: list[str], environment: dict[str, str] | None = None) -> str:
    done = subprocess.run(
        line, env=environment, capture_output=True, text=True, timeout=LONGEST, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@cache
def answers(client: str, at: str) -> dict[str, str]:
    """What a program printed; it runs once for each server."""
    return dict(line.split("\t") for line in printed(client, at).splitlines())


@pytest.mark.costly
@pytest.mark.parametrize(
    ("client", "case"), [(client, case) for client, cases in ANSWERS.items() for case in cases]
)
def test_a_client_gets_the_answer(client: str, case: str, served: Served) -> None:
    assert answers(client, served.url).get(case) == ANSWERS[client][case]


@pytest.mark.parametrize("client", ANSWERS)
def test_each_case_of_a_program_has_an_answer(client: str, served: Served) -> None:
    assert list(answers(client, served.url)) == list(ANSWERS[client])
