"""Draw some of the cases of a test that has many, with `--draw N`: one in N of each.

Of a costly test it is one in N x N. Of two cases of another test that differ by their database
alone, one is drawn.
"""

import os
from collections import defaultdict
from collections.abc import Iterator
from math import ceil
from zlib import crc32

import pytest

MANY = 12
"""So many cases of one test are never all needed, unless it has the mark `every`.

Of a test that has the mark `costly`, neither are two.
"""
DATABASES = ("postgresql", "sqlite")
STIR = 0x9E3779B1
"""2**32 divided by the golden ratio: multiples of it lie far from each other."""
SEED = "FAIRLEAD_DRAW"
"""The variable that draws others."""


def pytest_addoption(parser: pytest.Parser) -> None:
    """`--draw`: without it, all cases are run."""
    parser.addoption(
        "--draw", type=int, default=1, help=f"run one in N cases, drawn by the variable {SEED}"
    )


def pytest_report_header(config: pytest.Config) -> str | None:
    """How they were drawn."""
    if config.option.draw == 1:
        return None
    return (
        f"drawn: one in {config.option.draw} cases of tests that have {MANY} or are costly, "
        "and one database for each case of others, "
        f"{SEED}={seed()}"
    )


def seed() -> str:
    """By what cases are drawn."""
    return os.environ.get(SEED, "0")


def number(name: str) -> int:
    """A number that the seed gives a name.

    The seed multiplies: checksums behind two prefixes stand in nearly the same order.
    """
    return crc32(f"0 {name}".encode()) * (int(seed()) * STIR | 1) % 2**32


@pytest.hookimpl(trylast=True)  # what is not to be run at all is not drawn
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out what was not drawn; every process of the tests draws the same."""
    if config.option.draw < 1:
        raise pytest.UsageError(f"--draw: found {config.option.draw}, allowed: an integer from 1")
    if config.option.draw == 1:
        return
    if not seed().isdecimal():
        raise pytest.UsageError(f"{SEED}: found {seed()!r}, allowed: an integer from 0")
    tests = defaultdict(list)
    for item in items:
        if hasattr(item, "callspec") and item.get_closest_marker("every") is None:
            name, _, _ = item.nodeid.partition("[")
            tests[name].append(item)
    left_out: set[pytest.Item] = set()
    for cases in tests.values():
        costly = cases[0].get_closest_marker("costly") is not None
        if costly or len(cases) >= MANY:
            drawn = sorted(cases, key=lambda case: number(case.nodeid))
            share = config.option.draw ** (2 if costly else 1)
            left_out.update(drawn[ceil(len(cases) / share) :])
        else:
            left_out.update(_of_the_other_database(cases))
    if left_out:
        config.hook.pytest_deselected(items=[item for item in items if item in left_out])
        items[:] = [item for item in items if item not in left_out]


def _of_the_other_database(cases: list[pytest.Item]) -> Iterator[pytest.Item]:
    """One of each two cases that differ by their database alone; with the next seed the other."""
    by_rest = defaultdict(list)
    for case in cases:
        by_rest[case.nodeid.replace(*DATABASES)].append(case)
    for rest, pair in by_rest.items():
        if len(pair) == len(DATABASES):
            yield pair[(number(rest) + int(seed())) % len(DATABASES)]
