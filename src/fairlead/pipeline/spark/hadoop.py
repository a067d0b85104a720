"""Files on any file system that the session's Spark reaches: small ones read and written.

Spark's own Hadoop does it, with the settings and the rights of the session, on the driver. Only a
session with a JVM of its own has that; Spark Connect has none that we can call.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from fairlead.errors import EnvironmentProblem, UserError
from fairlead.pipeline.spark.refusals import not_reached, why

RENAMED_AT_ONCE: Final = frozenset({"file", "hdfs", "viewfs"})
"""File systems on which a folder gets another name in one step; others copy file by file."""
IN_ONE_STEP: Final = "fs.option.create.conditional.overwrite"
"""What makes S3 look whether a file is there in the same step in which it writes it."""
NUMBERS: Final = {
    "FileAlreadyExistsException": errno.EEXIST,
    "RemoteFileChangedException: Writing": errno.EEXIST,  # of S3, by IN_ONE_STEP
    "FileNotFoundException": errno.ENOENT,
    "AccessControlException": errno.EACCES,
    "AccessDeniedException": errno.EACCES,
    "PathAccessDeniedException": errno.EACCES,
}


def has_files(spark: SparkSession) -> bool:
    """Whether files elsewhere can be looked at: Spark Connect has no way to do it."""
    return not type(spark).__module__.startswith("pyspark.sql.connect")


class HadoopPath:
    """A file or a folder at a URI. All methods raise OSError; they do work on the driver."""

    def __init__(self, spark: SparkSession, uri: str) -> None:
        """Raises EnvironmentProblem under Spark Connect, OSError where nobody serves the URI."""
        if not has_files(spark):
            raise EnvironmentProblem(
                f"{uri}: found a session of Spark Connect, which reaches files elsewhere only as "
                "tables, allowed: a session with a JVM of its own (--master spark://…, yarn, local)"
            )
        classic: Any = spark  # nothing public leads to Hadoop
        self._jvm = classic._jvm  # noqa: SLF001
        self._settings = classic._jsparkSession.sessionState().newHadoopConf()  # noqa: SLF001
        with _as_os_error(uri):
            path = self._jvm.org.apache.hadoop.fs.Path(uri)
            self._files = path.getFileSystem(self._settings)
            self._path = self._files.makeQualified(path)
        self.uri = uri.rstrip("/") or uri

    def __truediv__(self, name: str) -> HadoopPath:
        """What has this name inside."""
        return self._other(
            f"{self.uri}/{name}", self._jvm.org.apache.hadoop.fs.Path(self._path, name)
        )

    def __str__(self) -> str:
        return self.uri

    @property
    def name(self) -> str:
        """The last part; "" of a root."""
        return str(self._path.getName())

    @property
    def parent(self) -> HadoopPath | None:
        """The folder around it; None of a root."""
        up = self._path.getParent()
        return None if up is None else self._other(up.toString(), up)

    def whole(self) -> str:
        """The URI with scheme and host, as Hadoop completes it."""
        return str(self._path.toString())

    def renamed_at_once(self) -> bool:
        """Whether a folder beside it gets its name in one step, as far as is known."""
        scheme = self._files.getUri().getScheme()
        if scheme == "viewfs":  # a view of other file systems
            with _as_os_error(self.uri):
                scheme = self._files.resolvePath(self._path.getParent()).toUri().getScheme()
        return scheme in RENAMED_AT_ONCE

    def exists(self) -> bool:
        """Whether something is there."""
        with _as_os_error(self.uri):
            return bool(self._files.exists(self._path))

    def is_folder(self) -> bool:
        """Whether a folder is there."""
        with _as_os_error(self.uri):
            return self.exists() and bool(self._files.getFileStatus(self._path).isDirectory())

    def names(self) -> list[str]:
        """The names in a folder, sorted."""
        with _as_os_error(self.uri):
            return sorted(
                str(status.getPath().getName()) for status in self._files.listStatus(self._path)
            )

    def make_folder(self) -> None:
        """Make it, and what is missing above it."""
        with _as_os_error(self.uri):
            if not self._files.mkdirs(self._path):
                raise OSError(errno.EIO, "no folder could be made", self.uri)

    def read(self) -> bytes:
        """The content of a small file."""
        with _as_os_error(self.uri):
            stream = self._files.open(self._path)
            try:
                return bytes(stream.readAllBytes())
            finally:
                stream.close()

    def is_created_in_one_step(self) -> bool:
        """Whether `create` looks in the step in which it writes, and the file is whole then."""
        with _as_os_error(self.uri):
            return bool(self._files.hasPathCapability(self._path, IN_ONE_STEP))

    def create(self, content: bytes) -> None:
        """Write a small file that is not there yet; raises FileExistsError where it is."""
        with _as_os_error(self.uri):
            if self.is_created_in_one_step():
                builder = self._files.createFile(self._path).overwrite(False)
                stream = builder.opt(IN_ONE_STEP, "true").build()
            else:
                stream = self._files.create(self._path, False)
            _write(stream, content)

    def replace(self, content: bytes) -> None:
        """Write a small file, whether it is there or not: in S3 in one step."""
        with _as_os_error(self.uri):
            _write(self._files.create(self._path, True), content)

    def copy_beside(self, to: HadoopPath) -> None:
        """Copy it and what is inside to another place of the same file system."""
        with _as_os_error(self.uri):
            copy = self._jvm.org.apache.hadoop.fs.FileUtil.copy
            copy(self._files, self._path, self._files, to._path, False, self._settings)

    def rename(self, to: HadoopPath) -> None:
        """Give it another name on the same file system. Raises FileExistsError where it is taken.

        Where a folder is renamed in one step, the look whether the name is taken is part of it.
        """
        with _as_os_error(self.uri):
            if self.renamed_at_once():
                context = self._jvm.org.apache.hadoop.fs.FileContext
                files = context.getFileContext(self._path.toUri(), self._settings)
                files.rename(self._path, to._path, self._no_options())
                return
            if to.exists():
                raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), to.uri)
            if not self._files.rename(self._path, to._path):
                raise OSError(errno.EIO, f"it could not be renamed to {to.uri}", self.uri)

    def delete(self) -> None:
        """Delete it and what is inside; nothing where it is not there."""
        with _as_os_error(self.uri):
            self._files.delete(self._path, True)

    def copy_to(self, place: Path) -> None:
        """Copy a file to a path of this machine."""
        with _as_os_error(self.uri):
            target = self._jvm.org.apache.hadoop.fs.Path(f"file:{place.absolute()}")
            self._files.copyToLocalFile(False, self._path, target, True)

    def _no_options(self) -> Any:  # noqa: ANN401 - an array of Java's
        kind = self._jvm.java.lang.Class.forName("org.apache.hadoop.fs.Options$Rename")
        return self._jvm.java.lang.reflect.Array.newInstance(kind, 0)

    def _other(self, uri: str, path: Any) -> HadoopPath:  # noqa: ANN401 - an object of Java's
        other = object.__new__(HadoopPath)
        other.__dict__ |= {**self.__dict__, "uri": uri, "_path": path}
        return other


def _write(stream: Any, content: bytes) -> None:  # noqa: ANN401 - an object of Java's
    try:
        stream.write(bytearray(content))
    finally:
        stream.close()


@contextmanager
def reading_there(uri: str) -> Iterator[None]:
    """Say where it was, if something cannot be read. Raises UserError."""
    try:
        yield
    except OSError as error:
        raise UserError(f"{uri}: cannot be read: {error.strerror}") from error


@contextmanager
def _as_os_error(uri: str) -> Iterator[None]:
    """Errors of Java's as those that Python has for files."""
    try:
        yield
    except (Py4JJavaError, PySparkException) as error:
        text = str(error)
        number = next((n for name, n in NUMBERS.items() if name in text.partition("\n\tat ")[0]), 0)
        words = os.strerror(number) if number else not_reached(error) or why(error)
        raise OSError(number or errno.EIO, words, uri) from error
