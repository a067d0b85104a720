"""Cluster files: TOML → clusters; every error names file, line and key."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from fairlead.balance.cluster import Cluster, keys
from fairlead.balance.objects import hint, listed, shown
from fairlead.config.paths import path_of
from fairlead.config.sites import POLICY, Sites, has_sites
from fairlead.config.toml import file_and_line, parsed
from fairlead.errors import ConfigError

SEVERAL: Final = "cluster"
ENDING: Final = ".toml"


def load_clusters(path: str | Path) -> list[Cluster]:
    """The clusters of one file: one in the short form, or each `[[cluster]]`; or of a folder.

    A cluster without a name is called after the file. Of a folder every file that ends in .toml is
    read, in the order of their names. Raises ConfigError with one line that names file, line, key,
    what was found and what is allowed.
    """
    place = path_of(path, ConfigError)
    if place.is_dir():
        return _of_folder(place)
    text, plain = parsed(path)
    if SEVERAL not in plain:
        _misspelt(path, text, plain)
        return _clusters(path, text, plain, (), place.stem)
    tables = plain[SEVERAL]
    others = [key for key in plain if key != SEVERAL]
    several = isinstance(tables, list) and tables and all(isinstance(t, dict) for t in tables)
    if others or not several:
        beside = f"found {listed(others)} beside [[cluster]]"
        what = beside if others else f"{SEVERAL}: found {shown(tables)}"
        where = file_and_line(path, text, [*others, SEVERAL][:1])
        raise ConfigError(
            f"{where}: {what}, allowed: [[cluster]] tables only, or the keys of one cluster"
        )
    for k, table in enumerate(tables):
        name = table.get("name")
        if not isinstance(name, str) or not name:
            where = file_and_line(path, text, [SEVERAL, k, "name"])
            raise ConfigError(
                f"{where}: cluster[{k + 1}].name: found {shown(name)}, allowed: a text"
            )
    for name, times in Counter(table["name"] for table in tables).items():
        if times > 1:
            raise ConfigError(f"{path}: cluster {name!r}: found twice, allowed: once")
    return [
        cluster
        for k, table in enumerate(tables)
        for cluster in _clusters(path, text, table, (SEVERAL, k), table["name"])
    ]


def _misspelt(path: str | Path, text: str, plain: Mapping[str, Any]) -> None:
    """Refuse a key that stands where `[[cluster]]` is meant."""
    near = [key for key in plain if hint(key, [SEVERAL])]
    if near and "policy" not in plain:
        raise ConfigError(
            f"{file_and_line(path, text, near[:1])}: {near[0]}: found an unknown key, allowed: "
            f"[[cluster]] tables, or the keys of one cluster{hint(near[0], [SEVERAL])}"
        )


def _of_folder(folder: Path) -> list[Cluster]:
    """The clusters of all files there; a line that refuses names all files that are wrong."""
    files = sorted(folder.glob(f"*{ENDING}"))
    if not files:
        raise ConfigError(f"{folder}: found no file that ends in {ENDING}, allowed: at least one")
    by_name: dict[str, Cluster] = {}
    wrong: list[str] = []
    for file in files:
        try:
            clusters = load_clusters(file)
        except ConfigError as error:
            wrong.append(str(error))
            continue
        for cluster in clusters:
            other = by_name.setdefault(cluster.name, cluster)
            if other is not cluster:
                wrong.append(
                    f"{file}: cluster {cluster.name!r}: found in another file of {folder}, too; "
                    "allowed: once"
                )
    if wrong:
        raise ConfigError("; ".join(wrong))
    return list(by_name.values())


def load_sites(path: str | Path) -> Sites:
    """The queue managers of a file that forward to each other. Raises ConfigError."""
    text, plain = parsed(path)
    if not has_sites(plain):
        raise ConfigError(
            f"{path}: found no file of one cluster of the policy {POLICY} whose channels have an "
            "address, allowed: one, to serve a queue manager"
        )
    return _sites(path, text, plain, (), path_of(path, ConfigError).stem)


def _clusters(
    path: str | Path, text: str, plain: Mapping[str, Any], at: Sequence[str | int], name: str
) -> list[Cluster]:
    """The cluster of a table; of several sites, one for each queue manager."""
    if has_sites(plain):
        return _sites(path, text, plain, at, name).clusters()
    with _located(path, text, at, name):
        return [Cluster.from_dict(plain, default_name=name)]


def _sites(
    path: str | Path, text: str, plain: Mapping[str, Any], at: Sequence[str | int], name: str
) -> Sites:
    with _located(path, text, at, name):
        return Sites.of(plain, name)


@contextmanager
def _located(path: str | Path, text: str, at: Sequence[str | int], name: str) -> Iterator[None]:
    """Say of what is refused inside in which file and line it stands."""
    try:
        yield
    except ConfigError as error:
        where = file_and_line(path, text, [*at, *error.place] if error.place else [])
        reason = _of_several(str(error)) if at else str(error)
        which = f"cluster {name!r}: " if at else ""
        raise ConfigError(f"{where}: {which}{reason}") from None


def _of_several(line: str) -> str:
    """An error line, with the headers of tables as they are in a file of several clusters."""
    return re.sub(rf"(\[\[?)({'|'.join(keys())})(?=\])", rf"\g<1>{SEVERAL}.\g<2>", line)
