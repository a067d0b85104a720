"""Results in a folder of this machine: made beside it, and put there in one step."""

from __future__ import annotations

import os
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Final, Self

from fairlead.errors import OutputError
from fairlead.runs.delivery import ResultsDelivery
from fairlead.runs.disk_full import writing
from fairlead.runs.paths import (
    COMPARISON,
    RECOMMENDATION,
    SPECIAL,
    SUMMARY,
    local,
)
from fairlead.runs.staging import Making, clear_dead, sync

LONGEST_NAME: Final = 255 - len(".12345678.lock") - 1
"""Bytes; file systems take 255, and what is made has a longer name at first."""


class FolderDelivery(ResultsDelivery):
    """A folder in the making beside its final place; `finish` puts it there in one step.

    Used as a context: on an error, or when nobody finishes it, the folder in the making is
    removed. What a killed process leaves has a name that begins with a dot, and goes with the next
    delivery to the same place.
    """

    def __init__(
        self, out: str, *, overwrite: bool, read: str = "", also_read: Sequence[Path] = ()
    ) -> None:
        """Refuse a place that is taken, or not on a file system of this machine.

        `read`: where the messages are; `also_read`: other files and folders that the run reads.
        What is read must not be replaced by the results, nor results become messages.
        """
        place = local(out)
        if place is None:
            raise OutputError(
                f"{out}: found a place elsewhere, allowed: a folder that this machine "
                "and all executors see under the same path"
            )
        self.out, self.overwrite = out, overwrite
        self.final = place.resolve()
        odd = SPECIAL.search(str(self.final))
        if odd:
            raise OutputError(
                f"{out}: found {odd[0]!r} in the path {self.final}, "
                "allowed: any without {}[]*?\\:, which Spark reads otherwise"
            )
        if len(os.fsencode(self.final.name)) > LONGEST_NAME:
            raise OutputError(
                f"{out}: found a name of {len(os.fsencode(self.final.name))} bytes, "
                f"allowed: at most {LONGEST_NAME}"
            )
        if not self.final.parent.is_dir():
            raise OutputError(f"{out}: the folder {self.final.parent} does not exist")
        clear_dead(self.final)
        self._refuse_taken()
        self._refuse_what_is_read(local(read) if read else None, also_read)
        self._hidden = Making(self.final)

    def _refuse_what_is_read(self, messages: Path | None, others: Sequence[Path]) -> None:
        for source in [*others, *([messages] if messages else [])]:
            place = source.resolve()
            if self.final in (place, *place.parents) and self.overwrite:
                raise OutputError(
                    f"{self.out}: found {source} in it, which is read, allowed: another folder"
                )
        if messages is not None and messages.is_dir() and messages.resolve() in self.final.parents:
            raise OutputError(
                f"{self.out}: found a folder inside {messages}, where the messages are, "
                "allowed: one outside"
            )

    def _refuse_taken(self) -> None:
        if not self.final.exists():
            return
        if not self.overwrite:
            raise OutputError(f"{self.out}: exists; name another folder, or use --overwrite")
        if not self.final.is_dir():
            raise OutputError(f"{self.out}: exists and is not a folder")
        if any(self.final.iterdir()) and not _ours(self.final):
            raise OutputError(
                f"{self.out}: --overwrite replaces only a folder that an earlier run wrote "
                f"(this one has no {SUMMARY} and no {COMPARISON})"
            )

    def __enter__(self) -> Self:
        try:
            with writing(self.final):
                self._hidden.begin()
        except BaseException:
            self._hidden.clear()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        if self.final.exists() and not self.making.exists():
            self.delivered.append(str(self.final))
        with writing(self.final):
            self._hidden.clear()

    @property
    def making(self) -> Path:
        """The folder in the making, where the parts are until `finish`."""
        return self._hidden.folder

    def move(self, name: str, to: str) -> None:
        target = self.making / to
        with writing(self.final):
            target.parent.mkdir(parents=True, exist_ok=True)
            if (self.making / name).exists():
                (self.making / name).rename(target)
            else:
                target.mkdir()

    def remove(self, name: str) -> None:
        shutil.rmtree(self.making / name, ignore_errors=True)

    def write_text(self, name: str, text: str) -> None:
        place = self.making / name
        with writing(self.final):
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_text(text, encoding="utf-8")

    def finish(self) -> None:
        """Put the folder into its place; what stood there before goes first.

        A process killed between the two leaves the old folder beside it, whole, under a name that
        begins with a dot; the next delivery puts it back. Raises OutputError, also where another
        run has delivered there meanwhile and is not to be overwritten.
        """
        with writing(self.final):
            for file in self.making.rglob("*"):
                if file.is_file():
                    sync(file)
        self._refuse_taken()
        with writing(self.final):
            self._hidden.deliver()
            sync(self.final.parent)


def of_this_machine(delivery: ResultsDelivery) -> FolderDelivery:
    """The delivery, where it is to a folder of this machine. Raises OutputError."""
    if not isinstance(delivery, FolderDelivery):
        raise OutputError(
            "--out: found a place elsewhere, allowed with --engine memory: a folder of this machine"
        )
    return delivery


def _ours(folder: Path) -> bool:
    return any((folder / name).is_file() for name in (SUMMARY, COMPARISON, RECOMMENDATION))
