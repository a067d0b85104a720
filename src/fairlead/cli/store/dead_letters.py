"""Dead letters: why they are, and what an operator does with them."""

from __future__ import annotations

from typing import Final

from fairlead.balance.objects import on_one_line, repr_of
from fairlead.cli.output import acted
from fairlead.cli.store.asking import is_wanted
from fairlead.cli.store.printing import print_json, print_rows, say_if_cut, short, when
from fairlead.store.store import Store
from fairlead.text import plural

REASONS: Final = 10
"""So many are counted, each on a line."""


def dead(store: Store, queue: str, most: int, reason: str | None, *, as_json: bool) -> None:
    """How many dead letters have each reason; then they themselves, the oldest first."""
    letters = store.dead(queue, most + 1, reason=reason)
    shown = letters[:most]
    if as_json:
        print_json(letter._asdict() for letter in shown)
    else:
        _count(store, queue, reason)
        print_rows(
            [
                {
                    "id": letter.id,
                    "group": letter.group,
                    "tenant": letter.tenant,
                    "attempt": letter.attempt,
                    "died": when(letter.died),
                    "reason": letter.reason,
                    "body": short(letter.body),
                }
                for letter in shown
            ],
            right=("attempt",),
            spare=("body", "tenant", "died", "attempt", "group"),
        )
    say_if_cut(len(letters) == len(shown), "oldest", most)


def _count(store: Store, queue: str, reason: str | None) -> None:
    counts = store.dead_counts(queue, REASONS, reason=reason)
    for why, count in counts.by_reason.items():
        print(on_one_line(f"{count:,} {why}"))
    if more := counts.reasons - len(counts.by_reason):
        left = counts.letters - sum(counts.by_reason.values())
        print(f"{left:,} of {plural(more, 'other reason')}")


def retry(store: Store, queue: str, ids: list[str] | None, reason: str | None) -> None:
    """Send dead letters again."""
    count = store.requeue(queue, ids, reason=reason)
    acted()
    print(f"sent again: {plural(count, 'message')}")


def discard(
    store: Store, queue: str, ids: list[str] | None, reason: str | None, *, yes: bool
) -> None:
    """Delete dead letters; all of them only after a question."""

    def question() -> str:
        count = store.dead_counts(queue, 1, reason=reason).letters
        of = "" if reason is None else f", whose reason begins with {repr_of(reason)}"
        return f"Delete {plural(count, 'dead letter')} of {queue}{of}?"

    if ids is None and not is_wanted(question, yes=yes):
        return
    count = store.discard(queue, ids, reason=reason)
    acted()
    print(f"deleted: {plural(count, 'dead letter')}")
