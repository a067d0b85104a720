"""The programs that tests speak to, where they are; `make peers` installs what it can."""

import os
import shutil
import subprocess
from pathlib import Path
from typing import NoReturn

import pytest

PEERS = Path(__file__).parents[1] / ".venv" / "peers"
"""Where `make peers` puts what it installs."""
PACKAGES = PEERS / "node_modules"


def missing(what: str) -> NoReturn:
    """Skip the test: what it speaks to is not here."""
    pytest.skip(f"not here: {what}")


def program(name: str) -> str:
    """Where it is; the test is skipped if it is nowhere."""
    found = shutil.which(name)
    return missing(name) if found is None else found


def node_with_rhea() -> tuple[str, dict[str, str]]:
    """Node, and the environment in which it finds rhea."""
    node = program("node")
    more = os.environ.get("NODE_PATH")
    environment = os.environ | {
        "NODE_PATH": f"{PACKAGES}{os.pathsep}{more}" if more else str(PACKAGES)
    }
    line = [node, "-e", "require('rhea')"]
    if subprocess.run(line, env=environment, check=False, capture_output=True).returncode:
        missing("rhea, a package of node")
    return node, environment


def axe() -> str:
    """The program of axe-core, which finds what keeps people from using a page."""
    folders = [PACKAGES, *map(Path, os.environ.get("NODE_PATH", "").split(os.pathsep))]
    for folder in folders:
        file = folder / "axe-core" / "axe.min.js"
        if file.exists():
            return file.read_text(encoding="utf-8")
    missing("axe-core, a package of node")


def java_with_jms(sources: Path, to: Path) -> list[str]:
    """How the class `clients.Answers` is run, which uses Qpid JMS; it is compiled into `to`."""
    compiler = program("javac")
    if not any((PEERS / "jms").glob("qpid-jms-client-*.jar")):
        missing("Qpid JMS, from Maven")
    jars = str(PEERS / "jms" / "*")
    line = [compiler, "-cp", jars, "-d", str(to), *map(str, sources.glob("*.java"))]
    subprocess.run(line, check=True)
    return [program("java"), "-cp", f"{to}{os.pathsep}{jars}", "clients.Answers"]


def artemis(to: Path) -> list[str]:
    """How a broker of ActiveMQ Artemis is run, but for its words; it is compiled into `to`."""
    compiler = program("javac")
    if not any((PEERS / "artemis").glob("artemis-server-*.jar")):
        missing("Artemis, from Maven")
    jars = str(PEERS / "artemis" / "*")
    source = Path(__file__).parent / "forward" / "brokers" / "Artemis.java"
    subprocess.run([compiler, "-cp", jars, "-d", str(to), str(source)], check=True)
    return [program("java"), "-Xmx256m", "-cp", f"{to}{os.pathsep}{jars}", "Artemis"]


def go_answers() -> str:
    """The program of go-amqp in `tests/serve/clients/go`, as it was built."""
    found = PEERS / "go-answers"
    return str(found) if found.exists() else missing("go-amqp, a module of Go")
