"""Names: a class name stands in one file, and local variables say what they hold."""

import ast
import re
from collections import defaultdict
from pathlib import Path
from typing import Final

SOURCE: Final = Path(__file__).parent.parent / "src" / "fairlead"
IN_SEVERAL: Final = {"State"}
"""What each choice rule calls the same, as its engines ask for it by this name."""
SAYS_NOTHING: Final = re.compile(r"^\s*(?:found|each|given|told|said|asked) = |\bfor each in\b")


def test_a_class_name_stands_in_one_file() -> None:
    places = defaultdict(set)
    for file in SOURCE.rglob("*.py"):
        for statement in ast.parse(file.read_text(encoding="utf-8")).body:
            if isinstance(statement, ast.ClassDef) and statement.name not in IN_SEVERAL:
                places[statement.name].add(str(file.relative_to(SOURCE)))
    assert {name: files for name, files in places.items() if len(files) > 1} == {}


def test_local_variables_say_what_they_hold() -> None:
    lines = [
        f"{file.relative_to(SOURCE)}: {line.strip()}"
        for file in SOURCE.rglob("*.py")
        for line in file.read_text(encoding="utf-8").splitlines()
        if SAYS_NOTHING.search(line)
    ]
    assert lines == []
