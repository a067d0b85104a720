"""What stands where in the kernel's array."""

from importlib import import_module
from pkgutil import iter_modules

import pytest

from fairlead.replay import layout
from fairlead.replay.batch import Attempts
from fairlead.replay.layout import job, links, reader

ROWS = sorted({module.name for module in iter_modules(layout.__path__)} - {"arrival"})
BEHIND_LINKS = ("group", "tenant")
TWICE = {"reader": (reader.FREE_AT, reader.FREE_TURN)}
"""Where nothing overtakes, a reader's cells have another meaning."""


@pytest.mark.parametrize("name", ROWS)
def test_the_cells_of_a_row_follow_one_another(name: str) -> None:
    row = vars(import_module(f"{layout.__name__}.{name}"))
    names = [each for each in row if each.isupper()]
    cells = [row[each] for each in names[: names.index("SIZE")]]
    first = links.SIZE if name in BEHIND_LINKS else 0
    assert cells == [*range(first, row["SIZE"]), *TWICE.get(name, ())]


def test_what_is_reported_of_a_job_stands_under_its_own_name() -> None:
    """Columns of an attempt are called as those of a job."""
    assert tuple(vars(job)[name.upper()] for name in Attempts._fields) == job.REPORTED
