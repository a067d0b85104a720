"""Programs of the version before, and of this one, share a store while it is upgraded.

The version before is that of the commit before the last one that changed the schema: its source is
taken from the repository, and its programs run in processes of their own.
"""

import json
import os
import subprocess
import sys
import tarfile
from collections import defaultdict
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path
from typing import Any

import psycopg
import pytest

from fairlead import Store
from fairlead.store.database.statements import migrations
from tests.stores import fresh_url

ROOT = Path(__file__).parent.parent.parent
PROGRAM = """
import json, sys
from fairlead import Store
url, path, create = sys.argv[1:]
store = Store.open(url, create=create == "create")
for line in sys.stdin:
    verb, arguments = json.loads(line)
    found = None
    if verb == "send":
        found = store.send(**arguments)
    elif verb == "work":
        work = store.take("q")
        if work is not None:
            found = work.group, [message.body for message in work]
            if arguments["rejects"]:
                work.release(error="tried")
                found = None
            else:
                with work.transaction() as tx:
                    tx.send("done", found[1])
                    tx.accept()
    elif verb == "choose":
        found = store.next_destination("pool").destination
    elif verb == "raise":
        found = store.prioritise("q", arguments["group"], 200)
    elif verb == "load":
        found = store.load_clusters(path)
    elif verb == "roles":
        found = store.make_roles()
    elif verb == "queues":
        found = {each.queue: each.messages for each in store.queues()}
    print(json.dumps(found), flush=True)
store.close()
"""
CLUSTER = """
name = "pool"
policy = "msmq"
[[destination]]
name = "A"
weight = 2
[[destination]]
name = "B"
weight = 1
"""


def git(*arguments: str) -> bytes:
    return subprocess.run(
        ["git", *arguments],  # noqa: S607
        cwd=ROOT,
        capture_output=True,
        check=True,
    ).stdout


@pytest.fixture(scope="module")
def before(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The source of the version before."""
    try:
        (last,) = git(
            *("log", "-1", "--format=%H", "--diff-filter=A", "--"),
            "src/fairlead/store/*/sql/*_0???.sql",
        ).split()
        packed = git("archive", f"{last.decode()}^", "src/fairlead")
    except (OSError, ValueError, subprocess.CalledProcessError):
        pytest.skip("there is no history to take the version before from")
    folder = tmp_path_factory.mktemp("before")
    with tarfile.open(fileobj=BytesIO(packed)) as files:
        files.extractall(folder, filter="data")
    return folder / "src"


class Program:
    """A program that uses a store, of one version or the other."""

    def __init__(self, source: Path, url: str, cluster: Path, *, create: bool = False) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-c", PROGRAM, url, str(cluster), "create" if create else "no"],
            env={**os.environ, "PYTHONPATH": str(source)},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def asks(self, verb: str, **arguments: Any) -> Any:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        print(json.dumps([verb, arguments]), file=self.process.stdin, flush=True)
        return json.loads(self.process.stdout.readline())

    def close(self) -> None:
        with self.process:
            assert self.process.stdin is not None
            self.process.stdin.close()
        assert self.process.returncode == 0


@pytest.fixture
def cluster(tmp_path: Path) -> Path:
    found = tmp_path / "pool.toml"
    found.write_text(CLUSTER)
    return found


def all_of(programs: list[Program], rounds: int) -> Iterator[tuple[int, Program]]:
    for number in range(rounds):
        yield number, programs[number % len(programs)]


@pytest.mark.slow
@pytest.mark.parametrize("dialect", ["sqlite", "postgresql"])
def test_both_send_take_and_settle_on_the_new_schema(
    dialect: str, before: Path, cluster: Path
) -> None:
    url = fresh_url(dialect)
    old = Program(before, url, cluster, create=True)
    assert old.asks("load") == ["pool"]
    for number in range(6):
        old.asks("send", queue="q", body=number, group=f"g{number % 3}")
    held = old.asks("work", rejects=False)
    assert held == ["g0", [0, 3]]
    with Store.open(url, upgrade=True) as store:
        found = store.upgraded
        assert found is not None
        assert found[0] < found[1] == len(migrations(dialect))
    new = Program(ROOT / "src", url, cluster)
    both = [old, new, new, old]
    sent = 6
    for number, each in all_of(both, 40):
        delay = 0.01 if number % 7 == 0 else 0
        each.asks("send", queue="q", body=sent, group=f"g{sent % 5}", delay=delay)
        sent += 1
        if number % 5 == 0:
            each.asks("raise", group=f"g{number % 5}")
    chosen = [each.asks("choose") for _, each in all_of(both, 30)]
    assert chosen.count("A") == 20
    got: dict[str, list[int]] = defaultdict(list)
    got["g0"] += held[1]
    nothing = turn = 0
    while nothing < 20:
        turn += 1
        done = both[turn % 4].asks("work", rejects=turn % 6 == 0)
        nothing = 0 if done else nothing + 1
        if done:
            got[done[0]] += done[1]
    assert sorted(body for bodies in got.values() for body in bodies) == list(range(sent))
    assert old.asks("queues").get("q", 0) == new.asks("queues").get("q", 0) == 0
    old.close()
    new.close()


@pytest.mark.slow
def test_roles_keep_both_rights_until_they_are_made_anew(before: Path, cluster: Path) -> None:
    url = fresh_url("postgresql")
    owner = Program(before, url, cluster, create=True)
    owner.asks("load")
    owner.asks("roles")
    name = f"rolling_{url.partition('/empty_')[2].partition('?')[0]}"
    with psycopg.connect(url) as connection:
        connection.execute(f"CREATE ROLE {name} LOGIN IN ROLE fairlead_worker".encode())
    mine = url.replace("//postgres:", f"//{name}:")
    old = Program(before, mine, cluster)
    old.asks("send", queue="q", body=1, group="g")
    with Store.open(url, upgrade=True):
        pass
    new = Program(ROOT / "src", mine, cluster)
    for number in range(2, 12):
        each = [old, new][number % 2]
        each.asks("send", queue="q", body=number, group=f"g{number}")
        each.asks("raise", group=f"g{number}")
        other = [new, old][number % 2]
        assert other.asks("work", rejects=number % 3 == 0) or number % 3 == 0
    old.close()
    with Store.open(url) as store:
        store.make_roles()
    new.asks("send", queue="q", body=0, group="last")
    while new.asks("work", rejects=False):
        pass
    assert new.asks("queues").get("q") == 0
    new.close()
    owner.close()


@pytest.mark.slow
@pytest.mark.parametrize("dialect", ["sqlite", "postgresql"])
def test_a_program_of_this_version_refuses_the_schema_before(
    dialect: str, before: Path, cluster: Path
) -> None:
    url = fresh_url(dialect)
    Program(before, url, cluster, create=True).close()
    from fairlead.errors import StoreError

    with pytest.raises(StoreError, match="`fairlead store upgrade` leads there"):
        Store.open(url, create=False)
