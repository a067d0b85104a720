"""Progress: a stage says what it does now; whoever runs it shows that, or does not."""

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext

Progress = Callable[[str], AbstractContextManager[object]]
"""Takes a few words; what it returns is entered while that lasts."""


def quiet(_: str) -> AbstractContextManager[object]:
    """Show nothing."""
    return nullcontext()
