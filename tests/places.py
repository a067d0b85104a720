"""Fixtures of all tests: folders at URIs."""

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest
from pyspark.sql import SparkSession

from tests.elsewhere import load_slow, view


class Place(NamedTuple):
    """A folder at a URI, and where it is on this machine."""

    uri: str
    here: Path
    in_place: bool
    """Whether results are made where they are to stand."""

    def names(self, *parts: str) -> list[str]:
        """What is in it."""
        return sorted(each.name for each in self.here.joinpath(*parts).iterdir())


@pytest.fixture(scope="session")
def slow(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> str:
    """The scheme of a file system that renames slowly, and not in one step."""
    load_slow(spark, tmp_path_factory.mktemp("slow"))
    return "slow"


@pytest.fixture
def slow_place(slow: str, tmp_path: Path) -> Place:
    """A folder where results are made in their place."""
    here = tmp_path / "slow"
    here.mkdir()
    return Place(f"{slow}://{here}", here, in_place=True)


@pytest.fixture
def view_place(spark: SparkSession, tmp_path: Path) -> Iterator[Place]:
    """A folder where results are made beside their place."""
    with view(spark, tmp_path / "view") as uri:
        yield Place(uri, tmp_path / "view", in_place=False)


@pytest.fixture(
    params=[pytest.param(True, marks=pytest.mark.slow), False], ids=["in place", "beside"]
)
def place(request: pytest.FixtureRequest, slow_place: Place, view_place: Place) -> Place:
    """Each of the two."""
    return slow_place if request.param else view_place
