"""Class-data archives: the classes of one run of Spark as one file, which the next one maps.

Half of what a small run takes is the loading of classes. Java writes what it has loaded into an
archive as it ends (`-XX:ArchiveClassesAtExit`), which is after the command has answered. Such a
file holds for one Java and one class path, and Java believes a file that is only half written: so a
file is used when a Java has accepted it, and while it has the size that it had then.
"""

from __future__ import annotations

import hashlib
import json
import logging
import os
import secrets
import subprocess
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import Any, Final, NamedTuple

log: Final = logging.getLogger("fairlead")

KEPT: Final = 2
"""Archives that stay, of about 185 MB each: those that were used last."""
TRIES: Final = 3
"""So often a Java writes one that none accepts, then no more."""
ZOMBIE: Final = "Z"
"""The state of a process that has ended, and of which nobody has heard that."""
SECONDS: Final = 60
"""For Java to say whether it accepts an archive, or to write its own classes into one."""
OWN_OPTIONS: Final = ("-Xshare", "SharedArchiveFile", "ArchiveClassesAtExit")
"""Whoever says one of these has an archive of his own."""
QUIET: Final = ("-Xlog:disable",)
"""Java would print on the terminal that it could not use an archive, or write one."""
CLASS_PATH: Final = (
    *("SPARK_CONF_DIR", "SPARK_DIST_CLASSPATH", "SPARK_HOME", "SPARK_PREPEND_CLASSES"),
    *("HADOOP_CONF_DIR", "YARN_CONF_DIR"),
)
"""What in the environment says where Spark looks for classes."""


class _Made(NamedTuple):
    """What is known of an archive that a Java has accepted."""

    size: int
    """Bytes."""
    class_path: str


class _Making(NamedTuple):
    """What is known of one that is being written."""

    file: str
    python: tuple[int, str]
    """The process that started Spark: its number, and when it began."""
    java: tuple[int, str] | None = None
    class_path: str = ""


class ClassArchive:
    """The archive of one Java and one Spark."""

    def __init__(self, folder: Path, executable: Path, version: str, spark: Path) -> None:
        """`version`: what this Java says of itself; `spark`: the folder of PySpark."""
        self._folder, self._executable = folder, executable
        jars = [(jar.name, jar.stat()) for jar in sorted((spark / "jars").glob("*.jar"))]
        known = [
            *(str(executable), version, str(spark)),
            *((name, stat.st_size, stat.st_mtime_ns) for name, stat in jars),
            *(os.environ.get(name, "") for name in CLASS_PATH),
        ]
        self._key = hashlib.sha256(json.dumps(known).encode()).hexdigest()[:16]
        self._archive = folder / f"{self._key}.jsa"
        self._base: Path | None = folder / f"{self._key}.base"
        if (executable.resolve().parent.parent / "lib" / "server" / "classes.jsa").is_file():
            self._base = None
        self._made, self._making = folder / f"{self._key}.json", folder / f"{self._key}.making"
        self._refused = folder / f"{self._key}.refused"
        self._uses: _Made | None = None
        self._makes: _Making | None = None

    def options(self) -> list[str]:
        """What Java is told: to use the archive, to write it as it ends, or nothing.

        One process at a time writes. Without room, or where the folder cannot be written to, Spark
        starts as it would without all this.
        """
        with suppress(OSError, ValueError):
            self._finish()
            self._uses = self._known()
            if self._uses is not None:
                os.utime(self._made)
                return [self._using(self._archive), *QUIET]
            part = self._begin()
            if part is not None:
                base = [] if self._base is None else [f"-XX:SharedArchiveFile={self._base}"]
                return [*base, f"-XX:ArchiveClassesAtExit={part}", *QUIET]
        return []

    def started(self, java: int, class_path: str) -> None:
        """Spark runs. `java`: the number of its process; `class_path`: as this Java has it."""
        with suppress(OSError):
            if self._makes is not None:
                made = self._makes._replace(java=_process(java), class_path=class_path)
                _write(self._making, made._asdict())
            elif self._uses is not None and self._uses.class_path != class_path:
                log.info("class archive refused by Java: the class path is another one")
                self._made.unlink(missing_ok=True)  # the next run writes another one

    def _known(self) -> _Made | None:
        """The archive, if it is there and whole."""
        with suppress(FileNotFoundError, TypeError, ValueError):
            archive = _Made(**json.loads(self._made.read_text()))
            if self._archive.stat().st_size == archive.size:
                return archive
        return None

    def _using(self, archive: Path) -> str:
        """The option by which Java uses an archive, upon that of its own classes."""
        first = "" if self._base is None else f"{self._base}{os.pathsep}"
        return f"-XX:SharedArchiveFile={first}{archive}"

    def _begin(self) -> Path | None:
        """Become the one process that writes the archive, and where; None: it cannot."""
        self._folder.mkdir(parents=True, exist_ok=True)
        if self._refusals() >= TRIES:
            return None
        part = self._folder / f"{self._key}-{secrets.token_hex(4)}.part"
        making = _Making(part.name, _process(os.getpid()))
        try:
            with self._making.open("x") as file:
                json.dump(making._asdict(), file)
        except FileExistsError:
            return None  # another one does
        self._makes = making
        return part if self._has_base(part.with_suffix(".own")) else None

    def _refusals(self) -> int:
        """How many archives were written one after the other that no Java accepted."""
        try:
            return len(self._refused.read_text())
        except FileNotFoundError:
            return 0

    def _has_base(self, part: Path) -> bool:
        """Whether there is an archive of Java's own classes; a Java without any gets one."""
        if self._base is None or self._base.is_file():
            return True
        if self._java("-Xshare:dump", f"-XX:SharedArchiveFile={part}"):
            part.replace(self._base)
            return True
        part.unlink(missing_ok=True)
        return False

    def _finish(self) -> None:
        """Take an archive that was written before, if its Java has ended and one accepts it."""
        try:
            draft = _Making(**json.loads(self._making.read_text()))
        except FileNotFoundError:
            return
        except (TypeError, ValueError):  # its process was killed as it wrote this
            self._making.unlink(missing_ok=True)
            return
        if any(_runs(process) for process in (draft.python, draft.java) if process is not None):
            return
        part = self._folder / draft.file
        if draft.class_path and self._is_accepted(part, draft.class_path):
            made = _Made(part.stat().st_size, draft.class_path)
            part.replace(self._archive)
            _write(self._made, made._asdict())
            self._refused.unlink(missing_ok=True)
            self._clear_away()
        elif draft.class_path:
            with self._refused.open("a") as refused:
                refused.write("x")
        part.unlink(missing_ok=True)
        self._making.unlink(missing_ok=True)

    def _is_accepted(self, part: Path, class_path: str) -> bool:
        """Whether a Java starts with it. One that is not whole may crash Java."""
        crash = "-XX:ErrorFile=/dev/null", "-XX:-CreateCoredumpOnCrash"
        return self._java("-Xshare:on", self._using(part), *crash, "-cp", class_path, "-version")

    def _java(self, *arguments: str) -> bool:
        """Whether Java does this."""
        try:
            ended = subprocess.run(  # noqa: S603 - the user's own Java
                [self._executable, *arguments], capture_output=True, timeout=SECONDS, check=False
            )
        except (OSError, subprocess.SubprocessError):
            return False
        return ended.returncode == 0

    def _clear_away(self) -> None:
        """Archives of other Javas and Sparks go, but for those that were used last."""
        known = sorted(self._folder.glob("*.json"), key=lambda each: -each.stat().st_mtime_ns)
        for file in known[KEPT:]:
            for name in (".json", ".jsa", ".base"):
                file.with_suffix(name).unlink(missing_ok=True)


def has_own(options: str) -> bool:
    """Whether a user's options for Java say what archive there is."""
    return any(option in options for option in OWN_OPTIONS)


def class_folders(spark: Path, more: str) -> list[Path]:
    """The folders on Spark's class path in which there is something; Java archives none of these.

    `spark`: the folder of PySpark; `more`: the user's own class path.
    """
    home = os.environ.get("SPARK_HOME") or str(spark)
    named = [
        os.environ.get("SPARK_CONF_DIR") or str(Path(home) / "conf"),
        *(os.environ.get(name, "") for name in ("HADOOP_CONF_DIR", "YARN_CONF_DIR")),
        *os.environ.get("SPARK_DIST_CLASSPATH", "").split(os.pathsep),
        *more.split(os.pathsep),
    ]
    folders = [Path(name) for name in named if name]
    return [folder for folder in folders if folder.is_dir() and any(folder.iterdir())]


def _write(path: Path, found: dict[str, Any]) -> None:
    handle, part = tempfile.mkstemp(dir=path.parent)
    with os.fdopen(handle, "w") as file:
        json.dump(found, file)
    Path(part).replace(path)


def _process(number: int) -> tuple[int, str]:
    """A process, told from one that has its number later."""
    began = ""
    with suppress(OSError, IndexError):
        state, *more = Path(f"/proc/{number}/stat").read_text().rpartition(")")[2].split()
        began = "ended" if state == ZOMBIE else more[18]
    return number, began


def _runs(process: tuple[int, str]) -> bool:
    number, began = process
    try:
        os.kill(number, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass  # somebody else's
    return not began or _process(number)[1] == began
