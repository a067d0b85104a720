"""What a page answers where it does not do what was asked."""

from __future__ import annotations

from typing import Final

from fairlead.errors import FairleadError

TITLES: Final = {
    400: "This cannot be done",
    401: "Log in first",
    403: "You may not do this",
    404: "There is no such page",
    405: "This is asked in another way",
    409: "This has changed since you looked",
    413: "That is too much",
    429: "Too many tries",
    500: "This has failed",
    503: "Not now",
}
"""Status of HTTP → the title of the page that refuses."""


class PageRefusal(FairleadError):  # noqa: N818 - nothing went wrong
    """A page that says in one line why not."""

    def __init__(self, status: int, line: str, *, closes: bool = False) -> None:
        """`status`: one of `TITLES`. `closes`: what was asked is not read to its end."""
        super().__init__(line)
        self.status: Final = status
        self.closes: Final = closes


def stale(what: str) -> PageRefusal:
    """The refusal of a page that shows what is not so any more; `what`: has changed."""
    return PageRefusal(409, f"{what}. Nothing was done; go back to see how it is now.")
