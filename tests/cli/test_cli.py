"""The command line, in process: what it writes, its exit status, and its one line on stderr."""

import csv
import json
import re
from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from fairlead import Balancer, Change, load_clusters, report
from fairlead.cli.app import run
from fairlead.cli.diff import GATES
from fairlead.cli.dispatch import print_phases
from fairlead.cli.fail_if import gate
from fairlead.cli.show import console
from fairlead.pipeline.questions.diff import Diff
from fairlead.results.summary import Phase

Row = dict[str, Any]
PROGRESS = re.compile(r"[A-Za-z ]+: \d+\.\d s")
AWKWARD = ["/a", "/A", "01", "1.0", "a\nb", 'ü"q', "a,b", "a\\b", " a ", "名", "null", "#x", "'"]


SOCKETS = """policy = "smartsockets"
subscriber = [
  { name = "R1", subject = "/a" },
  { name = "R2", subject = "/a" },
  { name = "all", subject = "/a", load_balanced = false },
]
"""


def toml_text(value: str) -> str:
    """A TOML basic string; JSON's escapes are TOML's."""
    return json.dumps(value, ensure_ascii=False)


def msmq(weights: dict[str, int]) -> str:
    return 'policy = "msmq"\n' + "".join(
        f"[[destination]]\nname = {toml_text(name)}\nweight = {weight}\n"
        for name, weight in weights.items()
    )


ON_BOTH = ("dispatch", "diff", "replay", "whatif")


class Desk:
    """A folder to work in, and what the last command said."""

    def __init__(
        self, folder: Path, capsys: pytest.CaptureFixture[str], engine: str = "spark"
    ) -> None:
        """`engine`: on which all runs of those commands that run on two."""
        self.folder = folder
        self.capsys = capsys
        self.out = self.err = ""
        self.engine = engine
        self.write("two.toml", msmq({"A": 1, "B": 2}))

    def __truediv__(self, name: str) -> str:
        return str(self.folder / name)

    def write(self, name: str, content: str | bytes) -> str:
        place = self.folder / name
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(content.encode() if isinstance(content, str) else content)
        return str(place)

    def run(self, *arguments: str) -> int:
        self.capsys.readouterr()
        if arguments[:1] and arguments[0] in ON_BOTH and "--engine" not in arguments:
            arguments = (*arguments, "--engine", self.engine)
        status = run(arguments)
        self.out, self.err = self.capsys.readouterr()
        return status

    def dispatch(self, messages: str, *more: str, cluster: str = "two.toml", to: str = "o") -> int:
        return self.run("dispatch", messages, "-c", self / cluster, "-o", self / to, *more)

    def refused(self, *arguments: str) -> str:
        """The one line on stderr of a command that the user got wrong."""
        assert self.run(*arguments) == 2, self.err
        return self.line()

    def line(self) -> str:
        lines = [each for each in self.err.splitlines() if not PROGRESS.fullmatch(each)]
        assert len(lines) == 1, self.err
        assert lines[0].startswith("fairlead: ")
        assert "Traceback" not in self.err
        return lines[0]

    def not_dispatched(self, messages: str, *more: str, cluster: str = "two.toml") -> str:
        """The same of a dispatch, which then leaves nothing behind."""
        before = sorted(self.folder.iterdir())
        assert self.dispatch(messages, *more, cluster=cluster, to="never") == 2, self.err
        assert sorted(self.folder.iterdir()) == before
        return self.line()

    def rows(self, part: str = "decisions", to: str = "o") -> list[Row]:
        return table(self.folder / to / part)

    def summary(self, to: str = "o") -> Row:
        found: Row = json.loads((self.folder / to / "summary.json").read_text(encoding="utf-8"))
        assert found["read"] == sum(found["outcomes"].values()) + found["rejected"]
        return found


@pytest.fixture
def desk(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Desk:
    return Desk(tmp_path, capsys, "memory")


def table(folder: Path) -> list[Row]:
    """The rows of a part of a delivery, in order; an empty CSV text is None."""
    rows: list[Row] = []
    for file in sorted(folder.glob("part-*")):
        if file.suffix == ".parquet":
            rows += pq.read_table(file).to_pylist()
        elif file.suffix == ".json":
            rows += [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
        else:
            with file.open(encoding="utf-8", newline="") as lines:
                rows += [
                    {k: None if v == "" else v for k, v in row.items()}
                    for row in csv.DictReader(lines)
                ]
    return rows


def messages(n: int, extra: str = "") -> str:
    return "id,time\n" + "".join(f"m{k:05},{k}\n" for k in range(n)) + extra


# --- refused before Spark is asked -----------------------------------------------------------


def test_no_such_file(desk: Desk) -> None:
    assert "no such file or folder" in desk.not_dispatched(desk / "none.csv")
    good = desk.write("m.csv", messages(1))
    assert "none.toml: no such file" in desk.not_dispatched(good, cluster="none.toml")
    assert "no such file" in desk.not_dispatched(good, "--changes", desk / "none.csv")


def test_not_a_table(desk: Desk) -> None:
    empty = desk.write("empty.csv", "")
    assert "the file is empty" in desk.not_dispatched(empty)
    refusal = desk.not_dispatched(desk / "two.toml")
    assert "found .toml, allowed: .csv, .json" in refusal
    (desk.folder / "folder").mkdir()
    assert "empty folder" in desk.not_dispatched(desk / "folder")


@pytest.mark.parametrize("verb", ["dispatch", "replay"])
def test_a_column_that_the_table_has_not_is_found_before_spark_starts(
    desk: Desk, verb: str
) -> None:
    given = desk.write("m.csv", messages(2))
    line = desk.refused(
        verb, given, "-c", desk / "two.toml", "-o", desk / "o", "--column", "time=tiem"
    )
    assert line == (
        f"fairlead: {given}: --column time=tiem: found no column 'tiem'; did you mean 'time'?; "
        "the table has: id, time"
    )
    assert "start Spark" not in desk.err


def test_out_must_be_a_place_of_ours(desk: Desk) -> None:
    given = desk.write("m.csv", messages(1))
    desk.write("foreign/notes.txt", "keep me")
    for more in ([], ["--overwrite"]):
        assert desk.dispatch(given, *more, to="foreign") == 2
        assert ("--overwrite" if not more else "summary.json") in desk.line()
    assert desk.dispatch(given, "--overwrite", to="m.csv") == 2
    assert "not a folder" in desk.line()
    assert desk.dispatch(given, to="no/such/parent") == 2
    assert "does not exist" in desk.line()
    assert (desk.folder / "foreign/notes.txt").read_text() == "keep me"


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (["--column", "time"], "--column: found 'time', allowed: NAME=EXPR"),
        (["--column", "a=1", "--column", "a=2"], "--column a: found twice, allowed: once"),
        (["--format", "xml"], "xml"),
        (["--no-such-option"], "no-such-option"),
    ],
    ids=str,
)
def test_options_that_mean_nothing(desk: Desk, options: list[str], expected: str) -> None:
    assert expected in desk.not_dispatched(desk.write("m.csv", messages(1)), *options)


@pytest.fixture
def on_spark(desk: Desk, spark: SparkSession) -> Desk:
    """What Spark says in its own way, or does in parts."""
    desk.engine = "spark"
    return desk


@pytest.fixture(
    params=["memory", pytest.param("spark", marks=(pytest.mark.slow, pytest.mark.spark))]
)
def on_both(desk: Desk, request: pytest.FixtureRequest) -> Desk:
    desk.engine = request.param
    if desk.engine == "spark":
        request.getfixturevalue("spark")
    return desk


@pytest.mark.parametrize(
    ("policy", "row", "expected"),
    [
        ("msmq", "3,Z,weight,5", "target: found 'Z', allowed: A, B"),
        ("msmq", "3,A,weight,-5", "found '-5', allowed: an integer from 0"),
        ("msmq", "1e300,A,weight,5", "time"),
        ("nanomsg", "3,A,priority,2", "keeps the priority"),
        ("nanomsg", "3,*,reset,", "counts nothing that could be reset"),
    ],
    ids=str,
)
def test_bad_changes(on_both: Desk, policy: str, row: str, expected: str) -> None:
    desk = on_both
    given = desk.write("m.csv", messages(5))
    changes = desk.write("x.csv", f"time,target,attribute,value\n{row}\n")
    desk.write("nanomsg.toml", 'policy = "nanomsg"\n[[destination]]\nname = "A"\n')
    name = "two.toml" if policy == "msmq" else "nanomsg.toml"
    line = desk.not_dispatched(given, "--changes", changes, cluster=name)
    assert expected in line
    assert f"{changes}:2" in line


# --- other commands --------------------------------------------------------------------------


def test_without_a_command_the_help_is_printed(desk: Desk) -> None:
    assert desk.run() == 2
    assert "dispatch" in desk.out
    assert desk.err == ""


def test_version(desk: Desk) -> None:
    assert desk.run("--version") == 0
    assert re.fullmatch(r"fairlead \d+\.\d+.*\n", desk.out)
    assert desk.run("dispatch", "--help") == 0
    assert "--number-rows" in desk.out


def test_policies(desk: Desk) -> None:
    assert desk.run("policies") == 0
    for name in ("msmq", "ibm-mq", "nanomsg"):
        assert re.search(rf"^{name}  ", desk.out, re.MULTILINE)
    assert desk.out.count("choose it when") == desk.out.count("not when") >= 3


def test_check(desk: Desk) -> None:
    assert desk.run("check", desk / "two.toml") == 0
    assert "66.67%" in desk.out
    assert desk.out.endswith("ok\n")
    bad = desk.write("bad.toml", msmq({"A": 1}).replace("weight", "wieght"))
    line = desk.refused("check", bad)
    assert f"{bad}:4: destination[1] 'A'.wieght" in line
    assert "did you mean 'weight'?" in line
    assert "no such file" in desk.refused("check", desk / "none.toml")


def test_check_of_awkward_names(desk: Desk) -> None:
    names = [*AWKWARD, "[bold]", "[/x]", "\x1b[31m", ":bug:"]
    pool = f"name = {toml_text('[red]x')}\n{msmq(dict.fromkeys(names, 1))}"
    assert desk.run("check", desk.write("odd [b].toml", pool)) == 0
    assert desk.out.startswith("[red]x: msmq, ")
    assert "\x1b" not in desk.out
    assert "[bold]" in desk.out
    assert ":bug:" in desk.out
    assert "a\\nb" in desk.out


@pytest.mark.parametrize(
    "weights", [{"A": 0, "B": 0}, {"A": 2**63 - 1, "B": 2**63 - 1}], ids=["zero", "edge"]
)
def test_check_of_extreme_weights(desk: Desk, weights: dict[str, int]) -> None:
    assert desk.run("check", desk.write("c.toml", msmq(weights))) == 0


def test_check_warns_where_nothing_can_happen(desk: Desk) -> None:
    nobody = desk.write("c.toml", msmq({"A": 0, "B": 0}))
    assert desk.run("check", nobody) == 0
    warned = (
        "no destination can be chosen (weight-zero); until a change, messages are no-destination"
    )
    assert desk.out.splitlines()[-5:] == [
        f"  warning: {warned}",
        "destination  condition",
        "A            weight 0",
        "B            weight 0",
        "ok",
    ]


TWO_SUBJECTS = """policy = "smartsockets"
subscriber = [
  { name = "R1", subject = "/news" },
  { name = "R2", subject = "/news", connected = "warm", load_balanced = false },
  { name = "R1", subject = "/work", present = false, connected = false },
]
"""


def test_check_says_how_waiting_work_is_ordered(desk: Desk) -> None:
    pool = msmq({"A": 1})
    ordered = f'{pool}\n[order]\ndiscipline = "priority"\nageing = 2.5\nweights = {{ kim = 3 }}\n'
    assert desk.run("check", desk.write("ordered.toml", ordered)) == 0
    assert (
        "  order of what waits: the highest priority first (100 if none is given), one more for "
        "each 2.5 s that it waits; tenants take turns: kim 3, any other 1\n"
    ) in desk.out
    assert desk.run("check", desk.write("plain.toml", pool)) == 0
    assert "order of what waits" not in desk.out


def test_check_of_subscribers(desk: Desk) -> None:
    assert desk.run("check", desk.write("two.toml", TWO_SUBJECTS)) == 0
    assert [line.split(maxsplit=2) for line in desk.out.splitlines()[-5:-1]] == [
        ["destination", "subject", "condition"],
        ["R1", "/news"],
        ["R2", "/news", "warm, balancing off"],
        ["R1", "/work", "absent, disconnected"],
    ]


def test_check_tells_ibms_steps_apart_from_its_own_numbers(desk: Desk) -> None:
    hub = 'policy = "ibm-mq"\n[queue_manager]\nname = "HUB"\nclusters = ["C"]\n'
    hub += '[[queue]]\nname = "Q"\nqueue_manager = "HUB"\n'
    assert desk.run("check", desk.write("hub.toml", hub)) == 0
    steps = [line for line in desk.out.splitlines() if re.match(r" +\d+\. ", line)]
    assert all(re.search(r"\(IBM's steps? [^)]+\)$", line) for line in steps)
    assert not any(re.search(r": \d+[ab]?(-\d+)?: ", line) for line in steps)


def test_piped_lines_are_whole_and_end_where_their_text_ends(desk: Desk) -> None:
    names = {"x" * 300: 1, "y": 2}
    assert desk.run("check", desk.write("long.toml", msmq(names))) == 0
    lines = desk.out.splitlines()
    assert [line for line in lines if line != line.rstrip()] == []
    assert any(line.startswith("x" * 300 + " ") for line in lines)
    assert desk.run("explain", "-c", desk / "long.toml", "--count", "2") == 0
    assert any(line.startswith("choices: ") and "x" * 300 in line for line in desk.out.splitlines())


def test_explain_count(desk: Desk) -> None:
    assert desk.run("explain", "-c", desk / "two.toml", "--count", "7") == 0
    assert "choices: B A B B A B B\n" in desk.out
    assert "message 7 of 7 -> B" in desk.out
    assert "would have been chosen" in desk.out
    assert "Counter" not in desk.out
    assert desk.run("explain", "-c", desk / "two.toml") == 0
    assert desk.out.startswith("-> B\n")


def test_explain_refuses_what_would_have_no_effect(desk: Desk) -> None:
    cluster = desk / "two.toml"
    alone = "takes --id and nothing else"
    assert alone in desk.refused("explain", desk / "o", "--message", "a=b", "--id", "x")
    assert alone in desk.refused("explain", desk / "o", "--id", "x", "--count", "3")
    assert alone in desk.refused("explain", desk / "o", "--id", "x", "-c", cluster)
    assert "which message? say --id ID" in desk.refused("explain", desk / "o")
    assert "--id needs the folder" in desk.refused("explain", "--id", "x", "-c", cluster)
    assert "needs --cluster" in desk.refused("explain")
    line = desk.refused("explain", "-c", cluster, "-m", "queue=ORDERS")
    assert "does not read it" in line
    assert "does not read it" in desk.refused("explain", "-c", cluster, "-m", "pcf=true")
    hub = 'policy = "ibm-mq"\n[queue_manager]\nname = "HUB"\nclusters = ["C"]\n'
    hub += '[[queue]]\nname = "Q"\nqueue_manager = "HUB"\n'
    line = desk.refused("explain", "-c", desk.write("hub.toml", hub), "-m", "pcf=bad")
    assert "found 'bad', allowed: true, false" in line
    assert "not a folder that dispatch or replay wrote" in desk.refused(
        "explain", desk / "o", "--id", "x"
    )


def test_explain_needs_the_clusters_of_a_journal(desk: Desk) -> None:
    rows: list[Any] = []
    balancer = Balancer(load_clusters(desk / "two.toml"), journal=rows.append)
    balancer.apply(Change("B", "weight", 1, time=1))
    for k in range(3):
        balancer.choose({"id": f"m{k}", "time": 1 + k})
    whole = [json.dumps(row.to_dict()) for row in rows]
    decided = [line for row, line in zip(rows, whole, strict=True) if row.outcome != "changed"]
    assert len(decided) == len(whole) - 1
    journal = desk.write("live/journal.jsonl", "\n".join(decided))
    changes = desk.write("c.csv", "time,target,attribute,value\n1,B,weight,1\n")
    cluster = desk / "two.toml"
    needs = "found a journal, which needs --id ID and --cluster FILE"
    for more in (["--id", "m1"], ["-c", cluster], ["--id", "m1", "-c", cluster, "--count", "2"]):
        assert needs in desk.refused("explain", journal, *more)
    asked = ("explain", desk / "live", "--id", "m1", "-c", cluster)
    assert "position 0: found a decision that these clusters and changes do" in desk.refused(*asked)
    assert desk.run(*asked, "--changes", changes) == 0
    assert desk.out.startswith("m1 -> B\ncluster two, version 1, stream two, sequence 1\n")
    assert "--changes goes with a journal" in desk.refused(
        "explain", *asked[-2:], "--changes", changes
    )
    with_changes = desk.write("whole.jsonl", "\n".join(whole))
    assert desk.run("explain", with_changes, "--id", "m1", "-c", cluster) == 0
    assert desk.out.startswith("m1 -> B\ncluster two, version 1, stream two, sequence 1\n")
    line = desk.refused("explain", journal, "--id", "m9", "-c", cluster)
    assert "found no decision on 'm9'; no message has this id" in line


# --- dispatch on Spark -----------------------------------------------------------------------


def test_tables_that_spark_cannot_read(on_both: Desk) -> None:
    desk = on_both
    binary = desk.write("m.parquet", bytes(range(256)) * 4)
    assert f"{binary}: not a table of format parquet" in desk.not_dispatched(binary)
    given = desk.write("m.csv", messages(1))
    line = desk.not_dispatched(given, "--input-format", "parquet")
    assert f"{given}: not a table of format parquet: found no Parquet file" in line
    line = desk.not_dispatched(given, "--input-format", "json")
    assert f"{given}: not a table of format json: found no row in it" in line
    no_time = desk.write("a.csv", "id,tiem\n1,2\n")
    line = desk.not_dispatched(no_time)
    assert "no column 'time', found: id, tiem; did you mean 'tiem'?; map one with" in line
    no_id = desk.write("b.csv", "ID,time\n1,2\n")
    assert "no column 'id', found: ID, time" in desk.not_dispatched(no_id)
    taken = desk.write("c.csv", "id,time,outcome\n1,2,x\n")
    assert "column 'outcome' is what the decisions add" in desk.not_dispatched(taken)
    taken = desk.write("d.csv", "id,time,Outcome\n1,2,x\n")
    assert "column 'Outcome' is what the decisions add" in desk.not_dispatched(taken)


@pytest.mark.slow
def test_expressions_that_spark_refuses(on_spark: Desk) -> None:
    desk = on_spark
    given = desk.write("m.csv", messages(2))
    for expression in ("time=", "time=nothing_like_it", "time=((", "time=time +", "x=no_fn(id)"):
        line = desk.not_dispatched(given, "--column", expression)
        assert f"--column {expression}: " in line
        assert "the table has: id, time" in line
    line = desk.not_dispatched(given, "--column", "time=1 + tiem")
    told = "--column time=1 + tiem: found no column 'tiem'; did you mean 'time'?; the table has: id"
    assert told in line
    line = desk.not_dispatched(given, "--drop", "tme")
    assert "--drop: found 'tme', allowed: id, time; did you mean 'time'?" in line
    line = desk.not_dispatched(given, "--number-rows", "--column", "id=time")
    assert "would be ignored" in line


def test_capacity_needs_service_times(on_both: Desk) -> None:
    desk = on_both
    desk.write("n.toml", 'policy = "nanomsg"\n[[destination]]\nname = "A"\ncapacity = 3\n')
    line = desk.not_dispatched(desk.write("m.csv", messages(2)), cluster="n.toml")
    assert "no column 'service_time', found: id, time; in cluster n completions decide" in line
    assert "map one with --column service_time=…" in line


BAD_ROWS = """id,time,service_time,note
b,1,1,later of two
a,0,,good
b,0.5,0,first of two
,2,1,no id
c,soon,1,no time
d,,1,no time
e,3,-1,no service
f,4,x,no service
g,2024-01-01 00:00:00,1,good
a,9,1,again
h,nan,1,no time
01,5,1,good
1.0,5,1,good
1,5,1,good
"""


def test_bad_rows_are_rejected_with_reasons(on_both: Desk) -> None:
    desk = on_both
    assert desk.dispatch(desk.write("m.csv", BAD_ROWS), "--format", "csv") == 0, desk.err
    summary = desk.summary()
    assert (summary["read"], summary["rejected"]) == (14, 8)
    assert summary["outcomes"] == {"routed": 6}
    assert [row["id"] for row in desk.rows()] == ["a", "b", "01", "1", "1.0", "g"]
    assert [row["note"] for row in desk.rows()][1] == "first of two"
    reasons = sorted((str(row["id"]), row["reason"]) for row in desk.rows("rejected"))
    seconds = "allowed: a timestamp, or a number of seconds"
    service = "allowed: a number of seconds from 0 to 4000000000, or empty"
    assert reasons == [
        ("None", "id: found nothing, allowed: a text"),
        ("a", "id: found 'a' again, allowed: once"),
        ("b", "id: found 'b' again, allowed: once"),
        ("c", f"time: found 'soon', {seconds}"),
        ("d", f"time: found nothing, {seconds}"),
        ("e", f"service_time: found '-1', {service}"),
        ("f", f"service_time: found 'x', {service}"),
        ("h", f"time: found 'nan', {seconds}"),
    ]
    assert "in 14 = decided 6 + rejected 8" in desk.out
    assert "it was rejected: time: found 'soon'" in desk.refused("explain", desk / "o", "--id", "c")
    assert "no message has this id" in desk.refused("explain", desk / "o", "--id", "zz")
    assert desk.run("explain", desk / "o", "--id", "1.0") == 0
    # A second run into the same place.
    before = (desk.folder / "o" / "summary.json").read_text()
    assert desk.dispatch(desk / "m.csv") == 2
    assert "exists" in desk.line()
    assert (desk.folder / "o" / "summary.json").read_text() == before
    assert desk.dispatch(desk / "m.csv", "--overwrite", "--drop", "note", "--format", "json") == 0
    assert desk.summary()["digest"] == json.loads(before)["digest"]
    assert [set(row) for row in desk.rows()] == [
        {"id", "time", "service_time", "destination", "address", "outcome", "sequence"}
    ] * 6
    assert not list(desk.folder.glob(".*"))


LINES = """id,time,note
a,1,"one
two"
b,2,"say ""hi"", or no"
c,3,5" pipe
d,4,x,more
e,5
f,6,"x, y"
"""


@pytest.mark.slow
def test_lines_that_are_no_rows_are_rejected(on_spark: Desk) -> None:
    desk = on_spark
    given = desk.write("m.csv", LINES)
    assert desk.dispatch(given, "--format", "csv") == 0, desk.err
    assert "in 7 = decided 4 + rejected 3" in desk.out
    assert "rejected, row: 3" in desk.out
    assert {row["id"]: row["note"] for row in desk.rows()}["f"] == "x, y"
    cut = "a part of a quoted text with a line break, allowed: with the option multiLine=true"
    assert sorted(row["reason"] for row in desk.rows("rejected")) == [
        "row: found 'd,4,x,more', allowed: a cell for each column",
        "row: found 'e,5', allowed: a cell for each column",
        f"row: found 'two\"', {cut}",
    ]
    numbered = ("--number-rows", "--drop", "id", "--column", "time=0", "--drop", "note")
    assert desk.dispatch(given, *numbered, "--overwrite") == 0, desk.err
    assert "rejected, row: 3" in desk.out
    more = ("--read-option", "multiLine=true", "--format", "csv")
    assert desk.dispatch(given, "--overwrite", *more) == 0, desk.err
    assert {row["id"]: row["note"] for row in desk.rows()}["a"] == "one\ntwo"


@pytest.mark.costly
@pytest.mark.parametrize("header", ["id,time,id", "Id,time,ID"])
def test_a_header_that_names_a_column_twice_is_refused(on_spark: Desk, header: str) -> None:
    line = on_spark.not_dispatched(on_spark.write("m.csv", f"{header}\na,1,b\n"))
    assert "m.csv: column" in line
    assert "found 2 times in the header, allowed: once" in line


def test_columns_may_end_in_their_places(on_both: Desk) -> None:
    given = on_both.write("m.csv", "c0,c1,id,time\na,1,b,2\n")
    assert on_both.dispatch(given) == 0, on_both.err
    (row,) = on_both.rows()
    assert (row["c0"], row["c1"]) == ("a", "1")


def test_a_table_without_messages(on_both: Desk) -> None:
    desk = on_both
    assert desk.dispatch(desk.write("m.csv", "id,time\n"), "--format", "csv") == 0
    assert desk.summary()["read"] == 0
    assert desk.rows() == []
    assert "in 0 = decided 0 + rejected 0" in desk.out
    assert "no message has this id" in desk.refused("explain", desk / "o", "--id", "m1")


def test_numbered_rows(on_both: Desk, spark: SparkSession) -> None:
    desk = on_both
    for folder in ("a", "b", "a/c"):
        rows = "".join(f"{k},{folder}\n" for k in range(3))
        desk.write(f"in/{folder}/m.csv", "time,whence\n" + rows)
    options = ("--number-rows", "--read-option", "recursiveFileLookup=true")
    assert desk.dispatch(desk / "in", *options, to="one") == 0, desk.err
    rows = desk.rows(to="one")
    assert {row["id"]: (row["time"], row["whence"]) for row in rows} == {
        f"{folder}/m.csv:{k + 1:010}": (str(k), folder)
        for folder in ("a", "b", "a/c")
        for k in range(3)
    }
    size = "spark.sql.files.maxPartitionBytes"
    spark.conf.set(size, "8")  # each file in several pieces
    try:
        assert desk.dispatch(desk / "in", *options, to="two") == 0, desk.err
    finally:
        spark.conf.unset(size)
    assert desk.rows(to="two") == rows
    assert desk.summary("one")["digest"] == desk.summary("two")["digest"]


def test_files_in_folders_are_read_or_refused(on_both: Desk) -> None:
    desk = on_both
    desk.write("in/m.csv", messages(2))
    desk.write("in/more/m.csv", "id,time\nx,1\n")
    if desk.dispatch(desk / "in") == 0:
        assert desk.summary()["read"] == 3
    else:
        assert "more" in desk.line()


@pytest.mark.parametrize("file_format", ["parquet", "csv", "json"])
def test_names_survive_to_the_byte(on_both: Desk, file_format: str) -> None:
    desk = on_both
    desk.write("odd.toml", msmq(dict.fromkeys(AWKWARD, 1)))
    ids = [*AWKWARD, "2013-02-09T17:00:00Z", "2013-02-09", "1e5", "true"]
    frame = pa.table({"id": ids, "time": pa.array(range(len(ids)), pa.int64())})
    pq.write_table(frame, desk.folder / "m.parquet")
    given = desk / "m.parquet"
    assert desk.dispatch(given, "--format", file_format, cluster="odd.toml") == 0, desk.err
    rows = desk.rows()
    assert [row["id"] for row in rows] == ids
    assert {row["destination"] for row in rows} == set(AWKWARD)
    found = Counter(share["destination"] for share in desk.summary()["phases"][0]["shares"])
    assert found == Counter(AWKWARD)
    for place, asked in enumerate(ids):
        assert desk.run("explain", desk / "o", "--id", asked) == 0, (asked, desk.err)
        on_one_line = rows[place]["destination"].replace("\n", r"\n")
        assert f" -> {on_one_line}\n" in desk.out


@pytest.mark.parametrize("file_format", ["csv", "json"])
def test_times_survive_to_the_microsecond(on_both: Desk, file_format: str) -> None:
    desk = on_both
    moments = pa.array([1_700_000_000_000_000 + 400 * k for k in range(4)], pa.timestamp("us"))
    pq.write_table(pa.table({"id": list("abcd"), "time": moments}), desk.folder / "m.parquet")
    change = "time,target,attribute,value\n2023-11-14T22:13:20.000500,A,enabled,false\n"
    options = ("--format", file_format, "--changes", desk.write("x.csv", change))
    assert desk.dispatch(desk / "m.parquet", *options) == 0, desk.err
    rows = desk.rows()
    assert [row["destination"] for row in rows] == ["B", "A", "B", "B"]
    assert [phase["messages"] for phase in desk.summary()["phases"]] == [2, 2]
    assert "000400" in str(rows[1]["time"])
    for row, version in zip(rows, [0, 0, 1, 1], strict=True):
        assert desk.run("explain", desk / "o", "--id", row["id"]) == 0, desk.err
        assert f"version {version}," in desk.out


def test_a_slow_start_is_dispatched_and_explained(on_both: Desk) -> None:
    desk = on_both
    destinations = "".join(f'[[destination]]\nname = "{name}"\nweight = 100\n' for name in "AB")
    options = "[options]\nslow_start = 100\nfailback_delay = 10\n"
    desk.write("slow.toml", f'policy = "weighted"\n{options}{destinations}')
    change = "time,target,attribute,value\n0,B,state,down\n90,B,state,up\n"
    given = desk.write("m.csv", messages(260))
    changes = desk.write("x.csv", change)
    assert desk.dispatch(given, "--changes", changes, cluster="slow.toml") == 0, desk.err
    phases = desk.summary()["phases"]
    assert [phase["since"] for phase in phases[1:]] == [
        second * 1_000_000 for second in (0, 90, 100, *range(120, 201, 10))
    ]
    assert [round(share["expected"], 3) for share in phases[3]["shares"]] == [0.909, 0.091]
    assert [phase["follows"] for phase in phases] == [False] * 3 + [True] * 10
    assert "since 100 s (a follow-up step): 20 messages\n" in desk.out
    assert desk.summary()["facts"]["changes"]["number"] == 2
    rows = desk.rows()
    assert desk.run("explain", desk / "o", "--id", rows[101]["id"]) == 0, desk.err
    assert "B: 10 served / weight 10 (10 % of 100: slow start) = 1\n" in desk.out
    for row in rows[95::8]:
        assert desk.run("explain", desk / "o", "--id", row["id"]) == 0, desk.err
        assert f" -> {row['destination']}\n" in desk.out


def test_one_message_is_no_plural(capsys: pytest.CaptureFixture[str]) -> None:
    print_phases(console(), [Phase(None, follows=False, messages=1, rows=2, shares=[])])
    assert capsys.readouterr().out == "from the beginning: 1 message, 2 decisions\n"


def test_a_dispatch_leaves_a_report(on_both: Desk) -> None:
    desk = on_both
    given = desk.write("m.csv", messages(12))
    assert desk.dispatch(given) == 0, desk.err
    assert desk.out.splitlines()[-1] == f"report: {desk / 'o'}/report.html"
    page = (desk.folder / "o" / "report.html").read_text(encoding="utf-8")
    summary = desk.summary()
    assert summary["digest"] in page
    assert f"fairlead dispatch {given} -c {desk / 'two.toml'} -o {desk / 'o'}" in page
    assert report.render(summary) == page, "summary.json has all that the page tells"
    assert desk.dispatch(given, "--no-report", to="plain") == 0, desk.err
    assert "report" not in desk.out + desk.err
    assert not (desk.folder / "plain" / "report.html").exists()
    plain = json.loads((desk.folder / "plain" / "summary.json").read_text(encoding="utf-8"))
    assert "facts" not in plain
    assert plain["digest"] == summary["digest"]


@pytest.mark.slow
def test_ten_thousand_destinations(on_both: Desk) -> None:
    desk = on_both
    desk.write("many.toml", msmq({f"D{k:05}": 1 + k % 3 for k in range(10_000)}))
    given = desk.write("m.csv", messages(12_000))
    assert desk.dispatch(given, cluster="many.toml") == 0, desk.err
    rows = desk.rows()
    assert len({row["destination"] for row in rows}) >= 6_000
    assert rows[0]["destination"] == "D00002"
    assert (desk.folder / "o" / "report.html").stat().st_size < 1_500_000
    assert desk.run("explain", desk / "o", "--id", "m11999") == 0
    assert f"m11999 -> {rows[-1]['destination']}" in desk.out


def test_explain_a_run_with_changes(on_both: Desk) -> None:
    desk = on_both
    change = "time,target,attribute,value\n6,A,weight,100\n9,B,enabled,false\n"
    options = ("--changes", desk.write("x.csv", change))
    assert desk.dispatch(desk.write("m.csv", messages(12)), *options) == 0, desk.err
    assert [row["destination"] for row in desk.rows()][6:] == ["A"] * 6
    assert desk.run("explain", desk / "o", "--id", "m00007") == 0
    assert "version 1" in desk.out
    assert "A was served less for its weight" in desk.out
    assert desk.run("explain", desk / "o", "--id", "m00010") == 0
    assert "version 2" in desk.out
    assert "dropped B: enabled is false" in desk.out


# --- diff ------------------------------------------------------------------------------------


@pytest.fixture
def runs(desk: Desk) -> tuple[str, str]:
    """The same 30 messages under weights of 1 and 2, and of 1 and 1."""
    lines = [f"m{k:02},{k},g{k % 3}" for k in range(30)]
    given = desk.write("m.csv", "\n".join(["id,time,group", *lines]) + "\n")
    desk.write("even.toml", msmq({"A": 1, "B": 1}))
    assert desk.dispatch(given, "--format", "csv", to="one") == 0
    assert desk.dispatch(given, cluster="even.toml", to="other") == 0
    return desk / "one", desk / "other"


def test_diff(desk: Desk, runs: tuple[str, str]) -> None:
    one, other = ([r["destination"] for r in desk.rows(to=Path(run).name)] for run in runs)
    moved = sum(a != b for a, b in zip(one, other, strict=True))
    assert desk.run("diff", *runs, "--out", desk / "d") == 0
    assert f"moved: {moved} of 30" in desk.out
    assert re.search(r"A +10 +15 +\+5\n", desk.out)
    assert re.search(r"B +20 +15 +-5\n", desk.out)
    rows = table(Path(desk / "d/moved"))
    assert len(rows) == moved
    assert {(row["id"], row["destination_before"], row["destination_after"]) for row in rows} == {
        (f"m{k:02}", a, b) for k, (a, b) in enumerate(zip(one, other, strict=True)) if a != b
    }
    summary = json.loads((desk.folder / "d/summary.json").read_text(encoding="utf-8"))
    assert (summary["both"], summary["moved"]) == (30, moved)


def test_diff_fails_where_it_is_told_to(desk: Desk, runs: tuple[str, str]) -> None:
    assert (
        desk.run("diff", *runs, "--fail-if", "moved > 100%", "--fail-if", "no_longer_routed > 0")
        == 0
    )
    assert (
        desk.run("diff", *runs, "--fail-if", "no_longer_routed > 0", "--fail-if", "moved > 5%") == 3
    )
    assert "fails: moved > 5%: moved is " in desk.out
    assert desk.run("diff", *runs, "--fail-if", "only_before > 0") == 0


def test_per_cents_are_of_what_can_be_so() -> None:
    """Only what both runs started can start later, and only a group can move."""
    numbers = {"both": 80, "only_before": 120, "only_after": 20, "groups": 8, "started": 40}
    some = {
        "moved": 20,
        "no_longer_routed": 20,
        "newly_routed": 20,
        "groups_moved": 2,
        "sooner": 10,
        "later": 10,
    }
    found = Diff(before=200, after=100, **numbers, **some)
    shares = {**dict.fromkeys(some, 25), "only_before": 60, "only_after": 20}
    assert shares.keys() == GATES.keys()
    for name, share in shares.items():
        value, whole = getattr(found, name), getattr(found, str(GATES[name]))
        assert gate(f"{name} >= {share}%", GATES).fails(value, whole)
        assert not gate(f"{name} > {share}%", GATES).fails(value, whole)


def test_a_condition_with_nothing_to_look_at_is_refused(desk: Desk) -> None:
    for name, id_ in (("one", "a"), ("two", "b")):
        assert desk.dispatch(desk.write("m.csv", f"id,time\n{id_},1\n"), to=name) == 0
    both = desk / "one", desk / "two"
    assert "moved > 5%: found no message that is in both runs" in desk.refused(
        "diff", *both, "--fail-if", "moved > 5%"
    )
    assert f"in both: 0; only in {both[0]}: 1; only in {both[1]}: 1" in desk.out
    assert desk.run("diff", *both, "--fail-if", "only_after > 0%") == 3
    same = both[0], both[0]
    assert "found no message with a group" in desk.refused(
        "diff", *same, "--fail-if", "groups_moved > 0"
    )


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        ("moved", "allowed: NAME > NUMBER"),
        ("moved > x", "allowed: NAME > NUMBER"),
        ("moved > -1", "allowed: NAME > NUMBER"),
        ("movd > 1", "groups_moved, sooner, later, only_before, only_after; did you mean 'moved'?"),
    ],
)
def test_a_condition_that_means_nothing_is_refused(
    desk: Desk, condition: str, expected: str
) -> None:
    assert desk.run("diff", desk / "a", desk / "b", "--fail-if", condition) == 2
    assert expected in desk.line()


def test_diff_of_what_is_no_run(desk: Desk) -> None:
    assert desk.run("diff", desk / "a", desk / "b") == 2
    assert "not a folder that dispatch or replay wrote" in desk.line()
    assert desk.run("diff", desk / "a", desk / "b", "--overwrite") == 2


@pytest.mark.slow
def test_number_rows_does_not_replace_an_id_unasked(on_spark: Desk) -> None:
    desk = on_spark
    given = desk.write("m.csv", "id,time\na,1\nb,2\n")
    line = desk.not_dispatched(given, "--number-rows")
    assert "--number-rows makes the column id, found one in the table" in line
    assert desk.dispatch(given, "--number-rows", "--drop", "id") == 0
    assert [row["id"] for row in desk.rows()] == ["m.csv:0000000001", "m.csv:0000000002"]


def test_files_of_one_folder_that_order_columns_otherwise_are_refused(desk: Desk) -> None:
    desk.write("many/1.csv", "id,time\na,1\n")
    desk.write("many/2.csv", "time,id\n2,b\n")
    line = desk.not_dispatched(desk / "many")
    assert "header" in line.lower()


CONTROL = "a SetPriority message is no work: no destination is chosen for it\n"
IBM = """policy = "ibm-mq"
[queue_manager]
name = "HUB"
clusters = ["C1"]
[[remote]]
name = "A"
[[remote]]
name = "B"
[[channel]]
name = "TO.A"
queue_manager = "A"
[[channel]]
name = "TO.B"
queue_manager = "B"
[[queue]]
name = "ORDERS"
queue_manager = "A"
[[queue]]
name = "ORDERS"
queue_manager = "B"
"""


def test_explain_a_run_with_bound_messages(on_both: Desk) -> None:
    desk = on_both
    desk.write("mq.toml", IBM)
    rows = ["p1", "p2", "p1", "p3", "p2", "p1"]
    body = "id,time,queue,producer,bind,cluster\n" + "".join(
        f"m{k},{k},ORDERS,{who},,\n" for k, who in enumerate(rows)
    )
    body += "free,9,ORDERS,p1,not-fixed,\nlost,10,NONE,,,\ncontrol,11,,,sometimes,\n"
    body += "none,12,ORDERS,,,other\n"
    assert desk.dispatch(desk.write("m.csv", body), cluster="mq.toml") == 0, desk.err
    found = {row["id"]: row["destination"] for row in desk.rows()}
    assert found["m0"] == found["m2"] == found["m5"] != found["m1"] == found["m4"]
    assert desk.summary()["outcomes"] == {"no-destination": 1, "routed": 7, "unknown-queue": 1}
    assert "bind: found 'sometimes'" in desk.rows("rejected")[0]["reason"]
    for asked, expected in {
        "m0": "the first of producer p1",
        "m2": "it follows producer p1",
        "m4": "it follows producer p2",
        "free": "would have been chosen",
        "lost": "none (unknown-queue)",
        "none": "there is no cluster 'other'",
    }.items():
        assert desk.run("explain", desk / "o", "--id", asked) == 0, desk.err
        assert expected in desk.out


STATES = """
[[cluster]]
name = "busy"
policy = "nanomsg"
destination = [{ name = "A", capacity = 1 }, { name = "B", capacity = 1 }]

[[cluster]]
name = "keys"
policy = "rendezvous"
destination = [{ name = "A" }, { name = "B" }, { name = "C" }]

[[cluster]]
name = "stay"
policy = "round-robin"
options = { affinity = "group" }
destination = [{ name = "A" }, { name = "B" }, { name = "C" }]
"""
KEYS = ["2024-01-01", "2024-01-02T03:04:05", "", "é", "1.0", "", "2024-01-01", ""]


@pytest.mark.parametrize("file_format", ["parquet", "csv", "json"])
def test_a_run_is_explained_from_what_it_wrote(on_both: Desk, file_format: str) -> None:
    """Capacities, keys and groups that stay, side by side: one run for all three."""
    desk = on_both
    desk.write("states.toml", STATES)
    body = "id,time,cluster,group,service_time,type\n"
    body += "m0,0,busy,,10,\nm1,1,busy,,1.5,\nm2,2,busy,,1,\nm3,2.5,busy,,1,\nm4,11,busy,,1,\n"
    body += "c,3,busy,,0,SetPriority\n"
    body += "".join(f"k{k},{k},keys,{group},,\n" for k, group in enumerate(KEYS))
    groups = ["g", "h", "g", "", "g", "h", "k", "g", "h"]
    body += "".join(f"g{k},{k},stay,{group},,\n" for k, group in enumerate(groups))
    change = "time,target,attribute,value\n6,A@keys,weight,0\n"
    change += "4,A@stay,state,down\n7,A@stay,state,up\n"
    more = ("--format", file_format, "--changes", desk.write("x.csv", change))
    given = desk.write("m.csv", body)
    assert desk.dispatch(given, *more, cluster="states.toml") == 0, desk.err
    found = {row["id"]: row["destination"] for row in desk.rows()}
    assert desk.summary()["outcomes"] == {"control": 1, "no-destination": 1, "routed": 21}

    def explained(id_: str) -> str:
        assert desk.run("explain", desk / "o", "--id", id_) == 0, desk.err
        assert desk.out.startswith(f"{id_} -> {found[id_] or 'none'}")
        return desk.out

    assert [found[name] for name in ("m0", "m1", "m2", "m3", "c", "m4")] == [
        *("A", "B", None, "B", None, "B")
    ]
    assert "busy: holds 1 of 1" in explained("m2")
    assert explained("m4")
    assert explained("c") == "c -> none (control)\ncluster busy, version 0\n" + CONTROL
    for k, group in enumerate(KEYS):
        text = explained(f"k{k}")
        assert ("the key's number" if group else f"place {k} in the stream") in text
        assert (f"its key is the group {group!r}" in text) == bool(group)
    assert [found[f"g{k}"] for k in range(len(groups))] == list("ABACBBCBB")
    for k, bound in ((2, True), (4, False), (6, False), (7, True), (8, True)):
        text = explained(f"g{k}")
        assert ("it follows group" in text) == bound
        assert ("group g was at A, which has dropped out" in text) == (k == 4)


def test_a_message_is_explained_by_the_key_that_it_would_have(desk: Desk) -> None:
    desk.write("keys.toml", STATES)
    key = ("cluster=keys", "-m", "group=é")
    assert desk.run("explain", "-c", desk / "keys.toml", "-m", *key) == 0, desk.err
    assert "the key's number 235179326" in desk.out
    other = ("cluster=keys", "-m", "type2=x")
    assert "does not read it" in desk.refused("explain", "-c", desk / "keys.toml", "-m", *other)


def test_the_column_that_a_cluster_follows_is_needed(desk: Desk) -> None:
    nameless = desk.write("n.csv", "id,time\na,1\n")
    for policy, why in (
        ('policy = "rendezvous"', "cluster c chooses by it; map"),
        ('policy = "round-robin"\noptions.affinity = "group"', "affinity"),
    ):
        desk.write("c.toml", policy + '\n[[destination]]\nname = "A"\n')
        refusal = desk.not_dispatched(nameless, cluster="c.toml")
        assert f"no column 'group', found: id, time; {why}" in refusal


# --- messages for several ---------------------------------------------------------------------


def test_a_message_for_several_is_a_row_for_each(desk: Desk) -> None:
    desk.write("sockets.toml", SOCKETS)
    rows = "".join(f"{k:02d},{k},{'round-robin' if k % 2 else 'none'}\n" for k in range(6))
    messages = desk.write("m.csv", "id,time,mode\n" + rows + "06,6,sometimes\n07,x,none\n")
    assert desk.dispatch(messages, cluster="sockets.toml") == 0
    got = [(row["id"], row["destination"]) for row in desk.rows("decisions")]
    everyone = ["R1", "R2", "all"]
    wanted = [[*everyone], ["R2", "all"], [*everyone], ["R1", "all"], [*everyone], ["R2", "all"]]
    assert got == [(f"{k:02d}", name) for k, names in enumerate(wanted) for name in names]
    assert "in 8 = decided 6 + rejected 2" in desk.out
    assert "decisions: 15, one for each destination of a message" in desk.out
    assert "from the beginning: 6 messages, 15 decisions\n" in desk.out
    assert {row["reason"][:4] for row in desk.rows("rejected")} == {"mode", "time"}
    assert desk.run("explain", desk / "o", "--id", "03") == 0
    assert "03 -> R1, all" in desk.out
    assert "the cursor comes to R1 first" in desk.out
    assert desk.run("explain", desk / "o", "--id", "04") == 0
    assert "04 -> R1, R2, all" in desk.out
    assert "everyone who is left gets it" in desk.out


def test_subscribers_of_one_name_are_told_apart_by_their_subject(on_both: Desk) -> None:
    desk = on_both
    one = '[[cluster]]\nname = "one"\npolicy = "msmq"\n'
    one += '[[cluster.destination]]\nname = "R1"\nweight = 1\n'
    sockets = '[[cluster]]\nname = "{}"\npolicy = "smartsockets"\n'
    subscriber = '[[cluster.subscriber]]\nname = "R1"\nsubject = "{}"\n'
    two = sockets.format("two") + subscriber.format("/news") + subscriber.format("/work")
    alone = sockets.format("alone") + subscriber.format("/only")
    desk.write("three.toml", one + two + alone)
    rows = ["two,/news", "two,/news", "two,/work", "two,/nobody", "alone,", "alone,/only", "one,/x"]
    given = desk.write(
        "m.csv",
        "id,time,cluster,subject\n" + "".join(f"m{k},{k},{r}\n" for k, r in enumerate(rows)),
    )
    assert desk.dispatch(given, cluster="three.toml") == 0, desk.err
    summary = desk.summary()
    wanted = [
        ("one", None, "R1", 1),
        ("two", "/news", "R1", 2),
        ("two", "/work", "R1", 1),
        ("alone", "/only", "R1", 2),
    ]
    named = ("cluster", "subject", "destination", "messages")
    [phase] = summary["phases"]
    assert [tuple(share[name] for name in named) for share in phase["shares"]] == wanted
    assert [
        (each["cluster"], each["subject"], each["name"], sum(each["counts"]))
        for each in summary["facts"]["over_time"]["destinations"]
    ] == wanted
    shown = [line for line in desk.out.splitlines() if " R1 " in line]
    assert [line.split()[0] for line in shown] == ["one", "two", "two", "alone"]
    assert re.match(r"two +/work +R1 +1 ", shown[2])
    page = (desk.folder / "o" / "report.html").read_text(encoding="utf-8")
    assert "two / R1@/work" in page


def test_two_runs_with_messages_for_several_are_compared_message_for_message(desk: Desk) -> None:
    desk.write("sockets.toml", SOCKETS)
    desk.write("without.toml", SOCKETS.replace('  { name = "R2", subject = "/a" },\n', ""))
    messages = desk.write("m.csv", "id,time,mode\na,1,none\nb,2,sorted\nc,3,round-robin\n")
    assert desk.dispatch(messages, cluster="sockets.toml", to="one") == 0
    assert desk.dispatch(messages, cluster="without.toml", to="two") == 0
    assert desk.run("diff", desk / "one", desk / "two") == 0
    assert "in both: 3" in desk.out
    assert "moved: 2 of 3" in desk.out
    assert "R1 + R2 + all" in desk.out


# --- groups that stay -------------------------------------------------------------------------


def test_a_group_is_explained_beside_a_cluster_that_sends_to_everyone(desk: Desk) -> None:
    stay = '[[cluster]]\nname = "stay"\npolicy = "round-robin"\noptions.affinity = "group"\n'
    stay += "".join(f'[[cluster.destination]]\nname = "{name}"\n' for name in "AB")
    news = '[[cluster]]\nname = "news"\npolicy = "broadcast"\n'
    news += '[[cluster.destination]]\nname = "X"\n'
    desk.write("both.toml", stay + news)
    rows = "a,1,stay,g\nb,2,stay,g\nc,3,news,g\nd,4,stay,h\n"
    given = desk.write("m.csv", "id,time,cluster,group\n" + rows)
    assert desk.dispatch(given, cluster="both.toml") == 0, desk.err
    assert desk.summary()["facts"]["groups"] == {"number": 2, "spread": 0}
    assert desk.run("explain", desk / "o", "--id", "b") == 0, desk.err
    assert "b -> A" in desk.out
    assert "it follows group g" in desk.out


def test_diff_does_not_replace_a_run_that_it_compares(desk: Desk) -> None:
    given = desk.write("m.csv", "id,time\na,1\n")
    assert desk.dispatch(given) == 0, desk.err
    line = desk.refused("diff", desk / "o", desk / "o", "--out", desk / "o", "--overwrite")
    assert "found a run that is compared" in line
    assert (desk.folder / "o" / "manifest.json").exists()
