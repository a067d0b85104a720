"""What is refused of a topic of Kafka before Spark or a broker is asked."""

from pathlib import Path

import pytest
from tests.cli.test_cli import Desk
from tests.ports import free_port

FOLLOW = ("--follow", "--available-now", "--no-report")
SECRET = "kafka.ssl.key.password"  # noqa: S105 - the name of an option


@pytest.fixture
def desk(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Desk:
    return Desk(tmp_path, capsys)


@pytest.mark.parametrize(
    ("where", "more", "said"),
    [
        ("kafka:a", (), "kafka:a: found no --kafka, allowed: --kafka HOST:PORT"),
        ("kafka:a,", ("--kafka", "h:1"), "kafka:a,: found no topic, allowed: kafka:TOPIC, or kaf"),
        ("kafka:a", ("--kafka", "h"), "--kafka: found 'h', allowed: HOST:PORT, or several with ,"),
        ("kafka:a", ("--kafka", "h:0"), "--kafka: found 'h:0', allowed: HOST:PORT"),
        ("in", ("--kafka", "h:1"), "--kafka: found with in, allowed: with kafka:TOPIC"),
        (
            "kafka:a",
            ("--kafka", "h:1", "--files-a-batch", "3"),
            "--files-a-batch: found with kafka:a, allowed: without it",
        ),
        (
            "kafka:a",
            ("--kafka", "h:1", "--input-format", "csv"),
            "--input-format: found with kafka:a, allowed: with files",
        ),
        (
            "kafka:a",
            ("--kafka", "h:1", "--read-option", "kafka.bootstrap.servers=h:2"),
            "--read-option: found kafka.bootstrap.servers, allowed: --kafka HOST:PORT",
        ),
        (
            "kafka:a",
            ("--kafka", "h:1", "--read-option", f"{SECRET}=x"),
            f"--read-option: found a secret, {SECRET}, on the command line, allowed: ${{file:/",
        ),
        (
            "kafka:a",
            ("--kafka", "h:1", "--column", "time=when"),
            "kafka:a: --column time=when: found no column 'when'",
        ),
    ],
)
def test_what_cannot_be_followed(desk: Desk, where: str, more: tuple[str, ...], said: str) -> None:
    (desk.folder / "in").mkdir()
    given = "-c", desk / "two.toml", "-o", desk / "o", *FOLLOW
    at = where if where.startswith("kafka:") else desk / where
    line = desk.refused("dispatch", at, *given, *more)
    assert line.removeprefix("fairlead: ").replace(f"{desk.folder}/", "").startswith(said), line


def test_a_topic_is_followed_and_nothing_else(desk: Desk) -> None:
    given = "-c", desk / "two.toml", "-o", desk / "o"
    said = "fairlead: kafka:a: found a topic of Kafka, allowed: with dispatch --follow"
    assert desk.refused("dispatch", "kafka:a", *given) == said
    assert desk.refused("replay", "kafka:a", *given) == said
    line = desk.refused("dispatch", desk / "in", *given, "--kafka", "h:1")
    assert line == "fairlead: --kafka: found without --follow, allowed: with it"


def test_a_broker_that_does_not_answer_is_told(desk: Desk) -> None:
    server = f"127.0.0.1:{free_port()}"
    given = "-c", desk / "two.toml", "-o", desk / "o", *FOLLOW, "--kafka", server
    assert desk.run("dispatch", "kafka:a", *given) == 2
    assert f"no broker of Kafka answered at {server} ({server}: Connection refused)" in desk.err
    assert not (desk.folder / "o").exists()
