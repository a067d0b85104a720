"""The archive of classes that the next run of Spark maps: made, used, refused, half written."""

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest
from tests.disks import disk

from fairlead.pipeline.spark.class_archive import (
    KEPT,
    TRIES,
    ClassArchive,
    class_folders,
    has_own,
)

JAVA = """#!/bin/sh
# Accepts an archive that says `whole`, and writes one of its own classes.
for each do
  case $each in -XX:SharedArchiveFile=*) file=${each##*[:=]} ;; esac
done
case $1 in
  -Xshare:dump) echo own > "$file" ;;
  -Xshare:on) grep -q whole "$file" ;;
esac
"""
CLASS_PATH = "jars/a.jar:jars/b.jar"
CLASS_PATH_VARIABLES = (
    "SPARK_CONF_DIR",
    "HADOOP_CONF_DIR",
    "YARN_CONF_DIR",
    "SPARK_DIST_CLASSPATH",
)


class Machine:
    """A Java, a Spark and a folder for archives."""

    def __init__(self, path: Path) -> None:
        self.folder, self.spark = path / "classes", path / "spark"
        self.java = path / "jre" / "bin" / "java"
        (self.spark / "jars").mkdir(parents=True)
        (self.spark / "jars" / "a.jar").write_text("classes")
        self.java.parent.mkdir(parents=True)
        self.java.write_text(JAVA)
        self.java.chmod(0o755)

    def archive(self, version: str = "17") -> ClassArchive:
        return ClassArchive(self.folder, self.java, version, self.spark)

    def run(self, version: str = "17", written: str = "whole") -> list[str]:
        """One run: the options of its Java, which writes this as it ends, if it is to write."""
        archive = self.archive(version)
        options = archive.options()
        ended = subprocess.Popen([sys.executable, "-c", ""])
        archive.started(ended.pid, CLASS_PATH)
        ended.wait()
        for option in options:
            if option.startswith("-XX:ArchiveClassesAtExit="):
                Path(option.partition("=")[2]).write_text(written)
                self.ends(ended.pid)
        return options

    def ends(self, process: int) -> None:
        """The program that began to write is over: this one here goes on."""
        for making in self.folder.glob("*.making"):
            found = json.loads(making.read_text())
            making.write_text(json.dumps({**found, "python": [process, "then"]}))

    def used(self, options: list[str]) -> str:
        """What the archive says that these options name; "": they name none."""
        for option in options:
            if option.startswith("-XX:SharedArchiveFile=") and option.endswith(".jsa"):
                return Path(option.rpartition(os.pathsep)[2].rpartition("=")[2]).read_text()
        return ""


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


def makes(options: list[str]) -> bool:
    return any(each.startswith("-XX:ArchiveClassesAtExit=") for each in options)


def test_one_run_writes_it_and_the_next_ones_use_it(machine: Machine) -> None:
    assert makes(machine.run())
    for _ in range(3):
        assert machine.used(machine.run()) == "whole"
    assert not [*machine.folder.glob("*.making"), *machine.folder.glob("*.part")]


def test_a_java_without_an_archive_of_its_own_gets_one(machine: Machine) -> None:
    (own,) = [each for each in machine.run() if each.startswith("-XX:SharedArchiveFile=")]
    base = Path(own.partition("=")[2])
    assert base.read_text() == "own\n"
    assert f"-XX:SharedArchiveFile={base}{os.pathsep}{base.with_suffix('.jsa')}" in machine.run()


def test_a_java_with_one_needs_no_other(machine: Machine) -> None:
    server = machine.java.parent.parent / "lib" / "server"
    server.mkdir(parents=True)
    (server / "classes.jsa").write_text("")
    assert not [each for each in machine.run() if each.startswith("-XX:SharedArchiveFile=")]
    assert machine.used(machine.run()) == "whole"


def test_what_java_refuses_goes_and_is_written_anew(machine: Machine) -> None:
    assert makes(machine.run(written="half"))
    assert makes(machine.run())
    assert machine.used(machine.run()) == "whole"


def test_a_java_that_never_writes_what_is_accepted_is_not_asked_for_ever(machine: Machine) -> None:
    for _ in range(TRIES):
        assert makes(machine.run(written="torn"))
    assert not makes(machine.run())
    assert not makes(machine.run())
    assert makes(machine.run("21"))  # another Java is


def test_what_was_refused_before_one_was_accepted_does_not_count(machine: Machine) -> None:
    for _ in range(3):
        for _ in range(TRIES - 1):
            assert makes(machine.run(written="torn"))
        assert makes(machine.run())
        used = machine.run()
        assert machine.used(used)
        next(machine.folder.glob("*.json")).unlink()


def test_a_java_that_has_a_folder_among_its_classes_is_not_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in (*CLASS_PATH_VARIABLES, "SPARK_HOME"):
        monkeypatch.delenv(name, raising=False)
    spark, settings = tmp_path / "spark", tmp_path / "settings"
    settings.mkdir()
    jar = tmp_path / "a.jar"
    jar.touch()
    for name in CLASS_PATH_VARIABLES:
        monkeypatch.setenv(name, str(settings))
    own = f"{jar}{os.pathsep}{settings}"
    assert class_folders(spark, own) == []  # an empty one does no harm
    (settings / "spark-defaults.conf").write_text("spark.ui.enabled false")
    for name in CLASS_PATH_VARIABLES:
        monkeypatch.delenv(name)
    assert class_folders(spark, own) == [settings]
    assert class_folders(spark, str(jar)) == []
    for name in CLASS_PATH_VARIABLES:
        with monkeypatch.context() as patch:
            patch.setenv(name, str(settings))
            assert class_folders(spark, "") == [settings], name
    (spark / "conf").mkdir(parents=True)
    (spark / "conf" / "hive-site.xml").touch()
    assert class_folders(spark, "") == [spark / "conf"]


def test_what_has_another_size_than_it_had_is_not_used(machine: Machine) -> None:
    machine.run()
    machine.run()
    (archive,) = machine.folder.glob("*.jsa")
    archive.write_text("who")
    assert makes(machine.run())
    assert machine.used(machine.run()) == "whole"


@pytest.mark.parametrize("said", ["", "{", "[]", '{"size": 5}'])
def test_what_nothing_readable_is_known_of_is_written_anew(machine: Machine, said: str) -> None:
    machine.run()
    machine.run()
    (made,) = machine.folder.glob("*.json")
    made.write_text(said)
    assert makes(machine.run())
    assert machine.used(machine.run()) == "whole"


def test_what_another_class_path_makes_java_refuse_goes(machine: Machine) -> None:
    machine.run()
    archive = machine.archive()
    assert machine.used(archive.options())
    archive.started(os.getpid(), "elsewhere.jar")
    assert makes(machine.run())


def test_one_process_at_a_time_writes(machine: Machine) -> None:
    first, second = machine.archive(), machine.archive()
    assert makes(first.options())
    assert second.options() == []
    second.started(os.getpid(), CLASS_PATH)
    first.started(os.getpid(), CLASS_PATH)
    assert machine.archive().options() == []


@pytest.mark.parametrize("said", ["", "{", "[]", '{"file": "x"}'])
def test_who_was_killed_as_it_began_holds_up_nobody(machine: Machine, said: str) -> None:
    machine.archive().options()
    (making,) = machine.folder.glob("*.making")
    making.write_text(said)
    assert makes(machine.run())
    assert machine.used(machine.run()) == "whole"


def test_of_several_those_stay_that_were_used_last(machine: Machine) -> None:
    for version in ("17", "21", "25"):
        machine.run(version)
        assert machine.used(machine.run(version))
        time.sleep(0.01)
    assert len([*machine.folder.glob("*.jsa")]) == KEPT
    assert machine.used(machine.run("25"))
    assert makes(machine.run("17"))


def test_where_nothing_can_be_written_spark_starts_without(machine: Machine) -> None:
    machine.folder.write_text("not a folder")
    assert machine.run() == []


def test_on_a_full_disk_spark_starts_without(machine: Machine, tmp_path: Path) -> None:
    with disk(tmp_path / "full", "4k") as folder:
        (folder / "large").write_bytes(bytes(4096))
        machine.folder = folder
        assert machine.run() == []


def test_who_has_an_archive_of_his_own_keeps_it() -> None:
    assert has_own("-Xmx1g -XX:SharedArchiveFile=mine.jsa")
    assert not has_own("-Xmx1g")


def halve(file: Path) -> None:
    file.chmod(0o600)
    os.truncate(file, file.stat().st_size // 2)


SCRIPT = """
from fairlead import spark_session

spark = spark_session("local[1]")
process = spark.sparkContext._gateway.proc.pid
print(spark.range(10).count(), process, open(f"/proc/{process}/cmdline").read().split("\\0"))
"""


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc").is_dir(), reason="needs /proc")
def test_spark_writes_one_and_uses_it(tmp_path: Path) -> None:
    cache = tmp_path / "fairlead" / "classes"

    def run() -> str:
        environment = {**os.environ, "XDG_CACHE_HOME": str(tmp_path), "SPARK_SUBMIT_OPTS": ""}
        ended = subprocess.run(
            [sys.executable, "-c", SCRIPT],
            capture_output=True,
            text=True,
            env=environment,
            check=True,
        )
        count, process, *options = ended.stdout.split()
        assert count == "10"
        until = time.monotonic() + 300
        while Path("/proc", process).exists():
            assert time.monotonic() < until
            time.sleep(0.1)
        assert "cds" not in ended.stderr
        return " ".join(options)

    assert "ArchiveClassesAtExit" in run()
    assert "SharedArchiveFile" in run()
    (archive,) = cache.glob("*.jsa")
    halve(archive)
    assert "ArchiveClassesAtExit" in run()
    (making,) = cache.glob("*.making")
    halve(cache / json.loads(making.read_text())["file"])
    assert "ArchiveClassesAtExit" in run()
    assert "SharedArchiveFile" in run()
