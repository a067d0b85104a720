"""Where doors differ from the models on purpose: each a line, with the page that says so."""

from typing import NamedTuple


class Difference(NamedTuple):
    """A door that answers or shows something else, and is meant to."""

    door: str
    what: str
    """The verb whose answer differs, or what is looked at."""
    feature: str
    """It differs in worlds that have this feature; "": in all."""
    page: str
    """Relative to `docs/`; with the anchor of the section that says so."""


DIFFERENCES: list[Difference] = []


def differ_on_purpose(door: str, what: str, features: frozenset[str]) -> bool:
    """Whether this difference is a line of the table."""
    return any(
        (line.door, line.what) == (door, what) and (not line.feature or line.feature in features)
        for line in DIFFERENCES
    )
