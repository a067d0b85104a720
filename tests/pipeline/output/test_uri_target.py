"""Results at a URI are whole or not there, for all who read them; and one of two writers wins."""

import json
import re
import subprocess
import sys

import msgspec
import pytest
from pyspark.sql import SparkSession
from tests.elsewhere import LOCKED
from tests.places import Place

from fairlead import Cluster, dispatch
from fairlead.errors import ChangeError, OutputError, UserError
from fairlead.pipeline.intake.changes_elsewhere import changes_at
from fairlead.pipeline.intake.read import read
from fairlead.pipeline.output.choose_target import delivery_to
from fairlead.pipeline.output.claim import RunClaim
from fairlead.pipeline.output.tables_delivery import TablesDelivery
from fairlead.pipeline.questions.elsewhere import run_at
from fairlead.pipeline.spark.hadoop import HadoopPath
from fairlead.runs.paths import CLAIM, SUMMARY
from fairlead.runs.run_folder import MANIFEST

WHOLE = {"format": 1, "file_format": "parquet", "clusters": [], "changes": []}
KILLED = """
import sys, msgspec
from fairlead.pipeline.output.claim import RunClaim
sys.stdout.write(msgspec.json.encode(RunClaim.own()).decode())
"""


def opened(spark: SparkSession, place: Place, *, overwrite: bool = False) -> TablesDelivery:
    """A delivery that has begun."""
    delivery = delivery_to(f"{place.uri}/out", overwrite=overwrite)
    delivery.begin(spark)
    return delivery


def make(spark: SparkSession, delivery: TablesDelivery, rows: int = 3) -> None:
    """Write what a run writes; nothing is delivered yet."""
    delivery.write(spark.range(rows).selectExpr("string(id) AS id"), "decisions", "parquet")
    delivery.write_json(MANIFEST, WHOLE)
    delivery.write_json(SUMMARY, {"rows": rows})


def deliver(spark: SparkSession, place: Place, rows: int = 3, *, overwrite: bool = False) -> None:
    with opened(spark, place, overwrite=overwrite) as delivery:
        make(spark, delivery, rows)
        delivery.finish()


def rows_at(spark: SparkSession, place: Place) -> int:
    """How many rows a reader of ours finds."""
    assert run_at(spark, f"{place.uri}/out") is not None
    return read(spark, f"{place.uri}/out/decisions", input_format="parquet").count()


def claim_of_a_killed_process() -> bytes:
    return subprocess.run([sys.executable, "-c", KILLED], capture_output=True, check=True).stdout


def claim_of_another_machine() -> bytes:
    found = json.loads(claim_of_a_killed_process())
    return json.dumps(found | {"host": "worker-7", "machine": "worker-7 0000 pid:[1]"}).encode()


def test_small_files_elsewhere(spark: SparkSession, place: Place) -> None:
    folder = HadoopPath(spark, f"{place.uri}/a b")
    assert not folder.exists()
    file = folder / "f.json"
    file.create(b"one \xc3\xa9")
    assert (file.read(), folder.names()) == (b"one \xc3\xa9", ["f.json"])
    assert (folder.is_folder(), file.is_folder()) == (True, False)
    with pytest.raises(FileExistsError):
        file.create(b"two")
    with pytest.raises(FileNotFoundError):
        (folder / "g.json").read()
    (folder / "g.json").create(b"two")
    assert folder.renamed_at_once() != place.in_place
    file.rename(folder / "h.json")
    with pytest.raises(FileExistsError):
        (folder / "g.json").rename(folder / "h.json")
    (folder / "h.json").copy_to(place.here / "copy")
    assert (place.here / "copy").read_bytes() == b"one \xc3\xa9"
    folder.delete()
    assert place.names() == ["copy"]


def test_nobody_takes_results_that_are_not_whole(spark: SparkSession, place: Place) -> None:
    with opened(spark, place) as delivery:
        make(spark, delivery)
        assert (place.here / "out").exists() == place.in_place
        if place.in_place:
            with pytest.raises(UserError, match=r"found results that are not whole \(there is no"):
                run_at(spark, f"{place.uri}/out")
            for part in ("out", "out/decisions"):
                with pytest.raises(UserError, match="found results that are not whole"):
                    read(spark, f"{place.uri}/{part}", input_format="parquet")
        delivery.finish()
    assert place.names() == ["out"]
    assert {MANIFEST, SUMMARY, "decisions"} == {*place.names("out")} - {
        each for each in place.names("out") if each.endswith(".crc")
    }
    assert rows_at(spark, place) == 3
    assert f"{place.uri}/out" in TablesDelivery.delivered


def test_what_nobody_finishes_leaves_nothing(spark: SparkSession, place: Place) -> None:
    with opened(spark, place) as delivery:
        make(spark, delivery)
    assert place.names() == []


def test_results_of_before_stay_until_there_are_others(spark: SparkSession, place: Place) -> None:
    deliver(spark, place)
    with pytest.raises(OutputError, match="exists; name another folder, or use --overwrite"):
        opened(spark, place)
    with opened(spark, place, overwrite=True):
        pass  # such as a run whose messages cannot be read
    assert rows_at(spark, place) == 3
    deliver(spark, place, 5, overwrite=True)
    assert rows_at(spark, place) == 5
    assert place.names() == ["out"]


def test_a_folder_of_others_is_not_replaced(spark: SparkSession, place: Place) -> None:
    (place.here / "out").mkdir()
    (place.here / "out" / "notes.txt").write_text("keep me")
    for overwrite in (False, True):
        with pytest.raises(OutputError, match=r"exists; name another|no summary\.json"):
            opened(spark, place, overwrite=overwrite)
    assert place.names("out") == ["notes.txt"]


def test_of_two_writers_one_wins_and_the_other_is_told(spark: SparkSession, place: Place) -> None:
    with opened(spark, place) as first:
        make(spark, first)
        if place.in_place:
            with pytest.raises(
                OutputError, match=r"out: found another run that writes there \(process \d+ on .*\)"
            ):
                opened(spark, place)
            first.finish()
        else:
            deliver(spark, place, 5)
            with pytest.raises(OutputError, match="exists; name another folder"):
                first.finish()
    assert rows_at(spark, place) == (3 if place.in_place else 5)
    assert place.names() == ["out"]


def test_what_a_killed_run_left_is_replaced(
    spark: SparkSession, place: Place, caplog: pytest.LogCaptureFixture
) -> None:
    claim = "out/" + CLAIM if place.in_place else ".out.00000000.lock"
    rest = "out/decisions" if place.in_place else ".out.00000000/decisions"
    (place.here / rest).mkdir(parents=True)
    (place.here / rest / "part-00000.parquet").write_text("half")
    (place.here / claim).write_bytes(claim_of_a_killed_process())
    deliver(spark, place)
    assert rows_at(spark, place) == 3
    assert place.names() == ["out"]
    assert ("a run that was killed" in caplog.text) == place.in_place


def test_a_run_on_another_machine_may_live(spark: SparkSession, slow_place: Place) -> None:
    (slow_place.here / "out").mkdir()
    (slow_place.here / "out" / CLAIM).write_bytes(claim_of_another_machine())
    for overwrite in (False, True):
        with pytest.raises(OutputError) as refused:
            opened(spark, slow_place, overwrite=overwrite)
        assert re.fullmatch(
            rf"{slow_place.uri}/out: found another run that writes there "
            rf"\(process \d+ on worker-7, since \S+\), allowed: one; "
            rf"if it has ended, delete {slow_place.uri}/out/{CLAIM}",
            str(refused.value),
        )
    (slow_place.here / "out" / CLAIM).unlink()
    deliver(spark, slow_place)


def test_who_has_lost_the_place_does_not_deliver(spark: SparkSession, slow_place: Place) -> None:
    other = claim_of_another_machine()
    with opened(spark, slow_place) as delivery:
        make(spark, delivery)
        (slow_place.here / "out" / CLAIM).write_bytes(other)
        with pytest.raises(OutputError, match="another run has taken the place meanwhile: process"):
            delivery.finish()
    assert SUMMARY not in slow_place.names("out")
    assert (slow_place.here / "out" / CLAIM).read_bytes() == other


def test_results_set_aside_by_a_killed_run_are_put_back(
    spark: SparkSession, view_place: Place
) -> None:
    deliver(spark, view_place)
    (view_place.here / "out").rename(view_place.here / ".out.00000000.old")
    (view_place.here / ".out.00000000.lock").write_bytes(claim_of_a_killed_process())
    with pytest.raises(OutputError, match="exists; name another folder"):
        opened(spark, view_place)
    assert view_place.names() == ["out"]
    assert rows_at(spark, view_place) == 3


@pytest.mark.parametrize(
    ("uri", "said"),
    [
        ("foo://bucket/out", "cannot write there: this Spark lacks a package with the file"),
        ("hdfs://nn.invalid/out", "cannot write there: there is no host 'nn.invalid'"),
    ],
)
def test_places_that_are_not_reached(spark: SparkSession, uri: str, said: str) -> None:
    with pytest.raises(OutputError, match=f"^{uri}: {said}"):
        delivery_to(uri, overwrite=False).begin(spark)


def test_a_place_where_one_may_not_write(spark: SparkSession, slow: str) -> None:
    for uri in (f"{slow}:///proc/routed", f"{slow}:///proc/routed/out"):
        with pytest.raises(OutputError, match=f"^{uri}: cannot write there: .+") as refused:
            delivery_to(uri, overwrite=False).begin(spark)
        assert "\n" not in str(refused.value)


def test_rights_that_one_does_not_have(spark: SparkSession, slow_place: Place) -> None:
    (slow_place.here / LOCKED).mkdir()
    uri = f"{slow_place.uri}/{LOCKED}"
    with pytest.raises(OutputError) as forbidden:
        delivery_to(f"{uri}/out", overwrite=False).begin(spark)
    assert str(forbidden.value) == f"{uri}/out: cannot write there: Permission denied"
    (slow_place.here / LOCKED / "m.csv").write_text("id,time\na,1\n")
    denied = "cannot be read: Permission denied: user=ann, access=READ, inode="
    with pytest.raises(UserError, match=f"^{uri}/m.csv: {denied}"):
        read(spark, f"{uri}/m.csv")
    with pytest.raises(ChangeError, match=f"^{uri}/m.csv: cannot be read: Permission denied$"):
        changes_at(spark, f"{uri}/m.csv")
    own = spark.read.schema("id string, time double").csv(f"{uri}/m.csv", header=True)
    with pytest.raises(UserError, match=f"^{uri}/m.csv: {denied}") as refused:
        dispatch(own, Cluster.of("weighted", destination=[{"name": "a"}]))
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize("uri", ["slow:///a/_out", "slow:///a/.out", "slow:///", "slow:///a*/b"])
def test_names_that_spark_would_pass_over(uri: str) -> None:
    with pytest.raises(OutputError, match=r"found .*, allowed: (a name|any without)"):
        delivery_to(uri, overwrite=False)


def test_a_claim_knows_whether_its_process_lives() -> None:
    assert RunClaim.own().lives() is True
    assert msgspec.json.decode(claim_of_a_killed_process(), type=RunClaim).lives() is False
    assert msgspec.json.decode(claim_of_another_machine(), type=RunClaim).lives() is None
