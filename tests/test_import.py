"""`import fairlead` costs next to nothing, and what is light stays light."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from fairlead import Store

POLICIES = "fairlead.balance.policies."
HEAVY = {
    "altair",
    "jinja2",
    "jsonschema",
    "msgspec",
    "numba",
    "numpy",
    "pandas",
    "pyarrow",
    "pyspark",
    "rich",
    "typer",
    "vl_convert",
}


def modules(code: str) -> set[str]:
    """The modules in memory after some code, in a process of its own."""
    script = f"{code}\nimport json, sys\nprint(json.dumps(sorted(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, check=True)
    return set(json.loads(done.stdout.splitlines()[-1]))


def loaded(code: str) -> set[str]:
    """The top-level packages among them."""
    return {name.partition(".")[0] for name in modules(code)}


def test_import_loads_nothing_heavy() -> None:
    assert not loaded("import fairlead") & HEAVY


def test_the_report_loads_its_library_when_it_draws() -> None:
    assert not loaded("from fairlead import report; report.check_installed()") & HEAVY


@pytest.mark.parametrize("name", ["Balancer", "Change", "Cluster", "Decision", "load_clusters"])
def test_the_core_loads_only_msgspec(name: str) -> None:
    assert loaded(f"from fairlead import {name}") & HEAVY <= {"msgspec"}


def test_a_live_balancer_loads_only_msgspec() -> None:
    code = (
        "from fairlead import Balancer, Change, Cluster\n"
        "cluster = Cluster.of('msmq', destination=[{'name': 'A', 'weight': 1}])\n"
        "balancer = Balancer(cluster)\n"
        "balancer.apply(Change('A', 'weight', 2))\n"
        "balancer.choose().explain()"
    )
    assert loaded(code) & HEAVY <= {"msgspec"}


def test_a_live_agenda_loads_only_msgspec() -> None:
    code = (
        "from fairlead import Agenda\n"
        "agenda = Agenda()\n"
        "agenda.send('a', 1, 0)\n"
        "agenda.waiting()\n"
        "agenda.take(0).accept()"
    )
    assert loaded(code) & HEAVY <= {"msgspec"}


@pytest.mark.parametrize("line", ["--version", "send orders x", "take orders", "queues --json"])
def test_a_command_about_queues_loads_no_library_of_tables(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, line: str
) -> None:
    monkeypatch.setenv("FAIRLEAD_STORE", f"sqlite:///{tmp_path}/work.db")
    with Store.open(f"sqlite:///{tmp_path}/work.db") as store:
        store.send("orders", "x")
    code = f"from fairlead.cli.app import run\nassert run({line.split()}) == 0"
    assert loaded(code) & HEAVY <= {"msgspec", "typer"}


@pytest.mark.parametrize(("policy", "own"), [("msmq", {"msmq"}), ("weighted", set())])
def test_a_command_loads_the_policy_that_is_named_and_nothing_that_reads_schemas(
    policy: str, own: set[str], tmp_path: Path
) -> None:
    file = tmp_path / "c.toml"
    file.write_text(f'policy = "{policy}"\n[[destination]]\nname = "a"\nweight = 1\n')
    code = f"from fairlead.cli.app import run\nassert run(['check', {str(file)!r}]) == 0"
    found = modules(code)
    documented = {"msmq", "ibm_mq", "smartsockets", "nanomsg", "priority_failover"}
    there = {name.rpartition(".")[2] for name in found if name.startswith(POLICIES)}
    assert there & documented == own
    unwanted = {"pydantic", "importlib.metadata", *HEAVY} - {"msgspec", "rich", "typer"}
    assert not found & unwanted


def test_every_public_name_is_there() -> None:
    import fairlead

    assert [name for name in fairlead.__all__ if not callable(getattr(fairlead, name))] == []
    with pytest.raises(AttributeError, match="no attribute 'dispatcher'"):
        _ = fairlead.dispatcher
