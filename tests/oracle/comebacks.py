"""Those who come back, as docs/reference/policies/weighted.md has them: fail-back, slow start."""

from collections.abc import Callable
from fractions import Fraction

from . import Row, exact, microseconds

STEPS = 10
WHOLE = Fraction(1)


def per_mille(step: int, aggression: Fraction) -> Fraction:
    """(step/10)^(1/aggression), rounded to per mille, halves up."""
    n, d = aggression.numerator, aggression.denominator
    part = 0
    while part < 1000 and Fraction(2 * part + 1, 2000) ** n <= Fraction(step, STEPS) ** d:
        part += 1
    return Fraction(part, 1000)


class Comebacks:
    """What is still to come of the rows of one cluster: a list of (time, row, what, value)."""

    def __init__(self, options: Row) -> None:
        self.delay = microseconds(options.get("failback_delay", 0))
        self.slow = "slow_start" in options
        self.window = microseconds(options.get("slow_start", 0))
        aggression = exact(options.get("slow_start_aggression", 1))
        least = Fraction(options.get("slow_start_min", 10), 100)
        self.paces = (
            [max(least, per_mille(k, aggression)) for k in range(STEPS)] if self.slow else []
        )
        self.to_come: list[tuple[int, Row, str, Fraction | str]] = []
        self.new: list[Row] = []

    def next(self, changes: list[Row]) -> int | None:
        """The earliest time at which anything happens."""
        times = [time for time, *_ in self.to_come]
        times += [microseconds(change["time"]) for change in changes]
        return min(times, default=None)

    def take(self, now: int) -> list[tuple[Row, str, Fraction | str]]:
        """What is due; at one time, what was caused first."""
        due = [(row, what, value) for time, row, what, value in self.to_come if time <= now]
        self.to_come = [entry for entry in self.to_come if entry[0] > now]
        return due

    def drop(self, row: Row, what: str) -> None:
        self.to_come = [e for e in self.to_come if not (e[1] is row and e[2] == what)]

    def hold_back(self, row: Row, attribute: str, value: object, now: int) -> bool:
        """Whether a row is up again, but does not count as up yet."""
        if not self.delay or attribute != "state":
            return False
        if value != "up":
            self.drop(row, "state")
            return False
        if row["state"] == "up":
            return False
        if not any(entry[1] is row and entry[2] == "state" for entry in self.to_come):
            self.to_come.append((now + self.delay, row, "state", "up"))
        return True

    def moved(self, row: Row, was_there: bool, is_there: bool) -> None:
        """A row has come or gone, or neither."""
        if self.slow and is_there and not was_there:
            self.new.append(row)
        if self.slow and was_there and not is_there:
            self.new = [each for each in self.new if each is not row]
            self.drop(row, "pace")
            row["pace"] = WHOLE

    def begin(self, rows: list[Row], beside: Callable[[Row, Row], bool], now: int) -> list[Row]:
        """At the end of a step: who has come, and starts slowly since others were there before."""

        def is_new(row: Row) -> bool:
            return any(each is row for each in self.new)

        slow = [
            row
            for row in rows
            if is_new(row) and any(beside(row, other) and not is_new(other) for other in rows)
        ]
        self.new = []
        for row in slow:
            for k in range(1, STEPS + 1):
                pace = self.paces[k] if k < STEPS else WHOLE
                self.to_come.append((now + self.window * k // STEPS, row, "pace", pace))
        return slow
