"""Results that are made where they are to stand, on file systems without a rename in one step.

    OUT/_writing.json     while a run writes there: which one
    OUT/decisions/ …      of no use to anybody as long as the last file is missing
    OUT/summary.json      the last file (of a replay `comparison.json`): now they are results

A run that is killed leaves its claim. The next one sees that it has ended, and replaces the rest.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import Final

from fairlead.errors import OutputError
from fairlead.pipeline.output import claim as claims
from fairlead.pipeline.spark.hadoop import HadoopPath
from fairlead.runs.paths import CLAIM, COMPARISON, SUMMARY

LAST: Final = (SUMMARY, COMPARISON)
"""Files of which one is written last."""


class CommitByLastFile:
    """Results in the making, in the folder where they are to stand."""

    def __init__(self, final: HadoopPath, out: str, *, overwrite: bool) -> None:
        """`out`: the place as it was given."""
        self.folder = final
        self.out, self.overwrite = out, overwrite
        self._claim: claims.RunClaim | None = None
        self._begun = False

    def begin(self) -> None:
        """Claim the place. Raises OutputError where it is taken, OSError."""
        names = self._names()
        if CLAIM in names:
            claims.clear_dead(self.folder / CLAIM, self.out)
        self._refuse_taken(names)
        self._claim = claims.take(self.folder / CLAIM, self.out)
        # Another run may have begun and ended since the place was looked at.
        self._refuse_taken(self._names())

    def make_room(self) -> None:
        """Remove what stands there, before the first part is written. Raises OSError."""
        if self._begun:
            return
        self._begun = True
        names = self._names() - {CLAIM}
        for name in sorted(names, key=lambda each: each not in LAST):  # no results any more
            (self.folder / name).delete()

    def deliver(self, files: Mapping[str, bytes]) -> None:
        """Write the small files, the one that says that all is there last.

        Raises OutputError where another run has taken the place, OSError.
        """
        self.make_room()
        for name in sorted(files, key=lambda each: each in LAST):
            if name in LAST and self._claim is not None:
                claims.check(self._claim, self.folder / CLAIM, self.out)
            (self.folder / name).create(files[name])
        self._claim = None
        with suppress(OSError):  # the results are there; the claim of a run that ended is no matter
            (self.folder / CLAIM).delete()

    def clear(self) -> None:
        """Remove what was made, if it was not delivered, and the claim. Raises OSError."""
        if self._claim is None:
            return
        if self._begun:
            claims.check(self._claim, self.folder / CLAIM, self.out)
            self.folder.delete()
        else:
            (self.folder / CLAIM).delete()
            if not self._names():
                self.folder.delete()
        self._claim = None

    def _names(self) -> set[str]:
        if not self.folder.exists():
            return set()
        if not self.folder.is_folder():
            raise OutputError(f"{self.out}: exists and is not a folder")
        return {*self.folder.names()}

    def _refuse_taken(self, names: set[str]) -> None:
        whole = not names.isdisjoint(LAST)
        if whole and not self.overwrite:
            raise OutputError(f"{self.out}: exists; name another folder, or use --overwrite")
        if names and not whole and CLAIM not in names:
            raise OutputError(
                f"{self.out}: found a folder that no run wrote (it has no {SUMMARY} and no "
                f"{COMPARISON}), allowed: another one"
            )
