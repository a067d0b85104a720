"""Progress: a stage says what it does now; whoever runs it shows that, or does not."""

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext

Tell = Callable[[int, int], object]
"""Takes how much is done, and of how much."""
Progress = Callable[[str], AbstractContextManager[Tell]]
"""Takes a few words; what it returns is entered while that lasts."""


def quiet(_: str) -> AbstractContextManager[Tell]:
    """Show nothing."""
    return nullcontext(lambda _done, _all: None)
