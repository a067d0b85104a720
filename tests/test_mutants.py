"""What `make mutants` draws is code, the same for the same seed; and it sees what is not caught."""

import ast
from pathlib import Path

import pytest

from tests.mutants import python_changes, sql_changes
from tests.mutants.__main__ import draw
from tests.mutants.change import ROOT, Change
from tests.mutants.statements import callers
from tests.mutants.trial import Copy, by_folder

QUICK = "tests/order/test_key.py"


def test_a_seed_draws_the_same_changes_of_lines_of_their_own() -> None:
    drawn = draw(20, 7, ["order", "store/schedules", "store, SQL"])
    assert drawn == draw(20, 7, ["order", "store/schedules", "store, SQL"])
    assert len({(change.path, change.line) for change in drawn}) == 20
    for change in drawn:
        assert change.text != (ROOT / change.path).read_text()
        if change.path.endswith(".py"):
            ast.parse(change.text)


def test_an_effect_is_left_out_and_annotations_stay() -> None:
    text = 'def f(a: int | None) -> int:\n    """Doc."""\n    g(\n        a,\n    )\n    return 1\n'
    found = python_changes.places(text)
    assert {place[0] for place in found} == {3, 6}
    (left_out,) = [place for place in found if place[1] == python_changes.LEFT_OUT]
    change = python_changes.changed("f.py", text, left_out)
    assert change is not None
    assert (change.line, change.before, change.after) == (3, "g( a, )", "pass")


@pytest.mark.parametrize(
    ("line", "after"),
    [
        ("WHERE due <= now", {"WHERE due < now"}),
        ("SELECT 1 -- a < b", {"SELECT 2 -- a < b"}),
        ("ORDER BY due, id", {"ORDER BY due DESC, id"}),
        ("a IS NULL OR b", {"a IS NOT NULL OR b", "a IS NULL AND b"}),
    ],
)
def test_sql_changes_by_patterns_and_comments_stay(line: str, after: set[str]) -> None:
    found = [sql_changes.changed("a.sql", line, place) for place in sql_changes.places(line)]
    assert {change.text for change in found if change} == after


def test_tests_of_a_folder_are_given_together_else_the_quickest_first() -> None:
    given = ["tests/a/x.py", "tests/b/y.py", "tests/z.py", "tests/a/w.py", "tests/b/v.py"]
    assert by_folder(given) == [given[0], given[3], given[1], given[4], given[2]]
    given = ["tests/a/x.py::f", "tests/z.py::g", "tests/a/w.py::h", "tests/a/x.py::i"]
    assert by_folder(given) == [given[0], given[3], given[2], given[1]]


def test_who_runs_a_line_of_sql_is_found_by_the_names_of_its_statement_and_functions() -> None:
    queues = "src/fairlead/store/queues"
    spots, _ = callers(f"{queues}/sql/sqlite.sql", _line(f"{queues}/sql/sqlite.sql", "add_lone"))
    assert spots == [(f"{queues}/sending.py", _line(f"{queues}/sending.py", '"add_lone"'))]
    taking = f"{queues}/sql/postgresql_functions_take.sql"
    _, files = callers(taking, _line(taking, "FUNCTION fairlead._take(") + 1)
    assert "tests/store/test_limits.py" in files
    assert callers(f"{queues}/sql/sqlite_0001.sql", 1) == ([], [])


def _line(path: str, text: str) -> int:
    lines = (ROOT / path).read_text().splitlines()
    return next(number for number, line in enumerate(lines, 1) if text in line)


@pytest.mark.slow
def test_a_change_that_a_test_notices_is_caught_and_another_survives(tmp_path: Path) -> None:
    copy = Copy(tmp_path / "copy", spark=False)
    path = "src/fairlead/order/key.py"
    text = (ROOT / path).read_text()
    broken = Change(path, 1, "", "", "", text + "\nraise ZeroDivisionError\n")
    same = Change(path, 1, "", "", "", text + "\nNOBODY_READS_THIS = 1\n")
    assert copy.tried(broken, [QUICK], {}).caught_by
    assert not copy.tried(same, [QUICK], {}).caught_by
    assert (copy.folder / path).read_text() == text
