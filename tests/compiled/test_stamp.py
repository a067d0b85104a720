"""What was compiled before an edit is not used after it, wherever the edit was made."""

import json
import os
import shutil
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import pytest

import fairlead
from fairlead.compiled.stamp import stamp

RULE = """
from typing import NamedTuple
from fairlead import OwnChoice
from helper import HIGHEST, TABLE, preferred
from state import start


def of_helper(s, members, start, stop):
    return preferred(members, start, stop)


def of_constant(s, members, start, stop):
    return HIGHEST


def of_table(s, members, start, stop):
    return TABLE[0]


def of_state(s, members, start, stop):
    return s.first[0]


def served(s, i):
    s.first[i] += 0


RULES = [
    OwnChoice("own", "", start, choose, served, helpers=(preferred,))
    for choose in (of_helper, of_constant, of_table, of_state)
]
"""
HELPER = """
import numpy as np
HIGHEST = 0
TABLE = np.array([0])


def preferred(members, start, stop):
    return members[start + 0]
"""
STATE = """
from typing import NamedTuple

class State(NamedTuple):
    first: list
    other: list


def start(destinations):
    return State(first=[0, 0], other=[1, 1])
"""
RUN = """
import json
import numpy as np
from fairlead.balance.rules.fewest_pending import FewestPending
from fairlead.compiled.decide import Block, DecisionTable, decide
from fairlead.compiled.kernels import as_arrays, compiled, kernels
from fairlead.replay import readers
from rule import RULES

found = {}
for choice in RULES:
    rule = choice.rule([])
    choose = getattr(kernels(rule.module), choice.choose.__name__)
    found[choice.choose.__name__] = int(choose(as_arrays(rule.state), np.array([0, 1]), 0, 2))
times, services = (np.array(each) * 1_000_000 for each in ([0, 0, 2], [3, 1, 1]))
pool = FewestPending([1000, 1000])
ab, nothing = np.array([0, 1]), np.array([-1])
one = {"preselected": nothing, "unserved": nothing, "copies": np.array([0])}
both = {"label": ab, "holds": ab >= 0, "speed": np.array([1000, 1000])}
table = DecisionTable(among=ab, start=np.array([0]), stop=np.array([2]), **one, **both)
block = Block(np.zeros(3, np.int32), times=times, services=services)
found["due"] = decide(pool, table, block).tolist()
cells = np.full(64, -1)
cells[6 + 10] = 32  # the first job of a group that begins at 0 and has 6 links
found["given"] = compiled(readers.given)(cells, 0)
print(json.dumps(found))
"""


def edit(path: Path, old: str, new: str) -> None:
    """As an editor would, but what tells of it is as before: the size and the time."""
    before, text = path.stat(), path.read_text(encoding="utf-8")
    assert text.count(old) == 1
    path.write_text(text.replace(old, new), encoding="utf-8")
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert path.stat().st_size == before.st_size


@pytest.mark.slow
def test_an_edit_is_followed_by_all_that_was_compiled_with_it(tmp_path: Path) -> None:
    package = tmp_path / "fairlead"
    shutil.copytree(
        Path(fairlead.__file__).parent, package, ignore=shutil.ignore_patterns("__pycache__")
    )
    for name, text in (("rule", RULE), ("helper", HELPER), ("state", STATE), ("run", RUN)):
        (tmp_path / f"{name}.py").write_text(text, encoding="utf-8")

    def run() -> dict[str, Any]:
        where = {"PYTHONPATH": str(tmp_path), "NUMBA_CACHE_DIR": str(tmp_path / "cache")}
        process = subprocess.run(
            [sys.executable, "-B", tmp_path / "run.py"],
            env={**os.environ, **where},
            capture_output=True,
            check=True,
        )
        found: dict[str, Any] = json.loads(process.stdout)
        return found

    # A takes 3 s and B 1 s, so after 2 s only B is through with its message.
    chosen = ("of_helper", "of_constant", "of_table", "of_state")
    assert run() == {**dict.fromkeys(chosen, 0), "due": [0, 1, 1], "given": 1}
    edit(tmp_path / "helper.py", "[start + 0]", "[start + 1]")
    edit(tmp_path / "helper.py", "HIGHEST = 0", "HIGHEST = 1")
    edit(tmp_path / "helper.py", "np.array([0])", "np.array([1])")
    edit(tmp_path / "state.py", "first: list\n    other: list", "other: list\n    first: list")
    edit(tmp_path / "state.py", "first=[0, 0], other=[1, 1]", "first=[1, 1], other=[0, 0]")
    # Every message takes 1 s, so after 2 s both are through, and it is A's turn.
    edit(package / "balance/rules/due.py", "return service  #", "return 1000000  #")
    # The kernel of a replay names `group.FIRST_GIVEN`, which stands behind the links.
    edit(package / "replay/layout/links.py", "SIZE: Final = 6", "SIZE: Final = 7")
    assert run() == {**dict.fromkeys(chosen, 1), "due": [0, 1, 0], "given": 0}


def test_a_type_of_arguments_that_was_moved_is_another_one() -> None:
    """What is on disk names it, and cannot be read any more."""
    here, moved = (type("Cells", (), {"__module__": name}) for name in (__name__, "elsewhere"))
    assert stamp(textwrap.dedent, here) != stamp(textwrap.dedent, moved)
