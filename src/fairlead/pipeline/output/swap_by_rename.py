"""Results that are made beside their place and renamed in one step, on file systems elsewhere.

    .OUT.1f2e3d4c        what is being made
    .OUT.1f2e3d4c.old    what stood at OUT, whole, while the new takes its place
    .OUT.1f2e3d4c.lock   which run makes the two above

What a killed run left goes with the next one to the same place; see `staging`, which does the same
on this machine with locks.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from fairlead.errors import OutputError
from fairlead.pipeline.output import claim as claims
from fairlead.pipeline.output.commit_by_last_file import LAST
from fairlead.pipeline.spark.hadoop import HadoopPath
from fairlead.runs.staging import LOCK, OLD


class SwapByRename:
    """Results in the making, in a hidden folder beside their place."""

    def __init__(self, final: HadoopPath, out: str, *, overwrite: bool) -> None:
        """`out`: the place as it was given."""
        parent = final.parent
        if parent is None:
            raise OutputError(f"{out}: found a whole file system, allowed: a folder in it")
        self.final, self.parent = final, parent
        self.out, self.overwrite = out, overwrite
        self.claim = claims.RunClaim.own()
        self.folder = parent / f".{final.name}.{self.claim.token}"
        self._begun = False

    def begin(self) -> None:
        """Make the hidden folder. Raises OutputError where the place is taken, OSError."""
        if not self.parent.is_folder():
            raise OutputError(f"{self.out}: the folder {self.parent} does not exist")
        self._clear_dead()
        self._refuse_taken()
        self._begun = True
        claims.write(self.claim, self._beside(LOCK))
        self.folder.make_folder()

    def make_room(self) -> None:
        """Nothing: what stands there stays until the new results are whole."""

    def deliver(self, files: Mapping[str, bytes]) -> None:
        """Write the small files, and put the folder into its place. Raises OutputError, OSError."""
        for name, content in files.items():
            (self.folder / name).create(content)
        self._refuse_taken()
        if self.overwrite and self.final.exists():
            self.final.rename(self._beside(OLD))
        try:
            self.folder.rename(self.final)
        except FileExistsError:
            raise OutputError(f"{self.out}: another run has delivered there meanwhile") from None

    def clear(self) -> None:
        """Clear away what is left beside the final place. Raises OSError."""
        if self._begun:
            _settle(self.folder, self.final)

    def _clear_dead(self) -> None:
        named = re.compile(re.escape(f".{self.final.name}.") + r"[0-9a-f]{8}" + re.escape(LOCK))
        for name in filter(named.fullmatch, self.parent.names()):
            left = claims.found(self.parent / name)
            if left is not None and left.lives() is False:
                _settle(self.parent / name.removesuffix(LOCK), self.final)

    def _refuse_taken(self) -> None:
        if not self.final.exists():
            return
        if not self.overwrite:
            raise OutputError(f"{self.out}: exists; name another folder, or use --overwrite")
        if not self.final.is_folder():
            raise OutputError(f"{self.out}: exists and is not a folder")
        names = self.final.names()
        if names and set(names).isdisjoint(LAST):
            raise OutputError(
                f"{self.out}: --overwrite replaces only a folder that an earlier run wrote "
                f"(this one has no {' and no '.join(LAST)})"
            )

    def _beside(self, what: str) -> HadoopPath:
        return self.parent / (self.folder.name + what)


def _settle(folder: HadoopPath, final: HadoopPath) -> None:
    """End what was begun: whatever is whole gets its place, and all the rest goes."""
    parent = final.parent or final
    old, lock = (parent / (folder.name + what) for what in (OLD, LOCK))
    if old.exists():
        if final.exists():
            # Under this name nobody takes for whole what is half cleared away.
            folder.delete()
            old.rename(folder)
        else:
            old.rename(final)
    folder.delete()
    lock.delete()
