"""What users may rely on is what the page about it lists, and all of that is there."""

import inspect
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import fairlead
import fairlead.errors
import fairlead.sockets
from fairlead import rows
from fairlead.cli.app import commands as put_together
from fairlead.store.database.statements import functions, migrations, roles

PAGE = (Path(__file__).parent.parent / "docs" / "reference" / "public.md").read_text("utf-8")


def listed_after(words: str) -> set[str]:
    """The names of the first list after some words."""
    block = PAGE[PAGE.index(words) :].split("\n\n")[1]
    return {*re.findall(r"`([^`]+)`", block)}


def commands(group: Any, before: str = "") -> Iterator[str]:
    for name, each in group.commands.items():
        if hasattr(each, "commands"):
            yield from commands(each, f"{before}{name} ")
        else:
            yield before + name


def test_python_exports_what_is_listed() -> None:
    assert listed_after("From `fairlead`:") == {*fairlead.__all__}
    assert listed_after("From `fairlead.sockets`:") == {*fairlead.sockets.__all__}
    base = fairlead.errors.FairleadError
    errors = {
        name
        for name, each in vars(fairlead.errors).items()
        if inspect.isclass(each) and issubclass(each, base)
    }
    assert listed_after("From `fairlead.errors`:") == errors | {"Reject"}


def test_each_command_is_listed() -> None:
    found = {*commands(put_together())}
    assert listed_after("Commands, with the options") == found


def test_each_column_of_results_is_listed() -> None:
    tables = [each for name, each in vars(rows).items() if name.endswith("_COLUMNS")]
    columns = {column.name for table in tables for column in table}
    assert listed_after("and those that results add:") == columns


def test_each_function_and_role_of_the_schema_is_listed() -> None:
    sql = functions("postgresql")
    assert listed_after("Functions of the schema") == {
        *re.findall(r"FUNCTION fairlead\.([a-z]\w*)\(", sql)
    }
    views = {"machines", "dead_letters", "delayed_messages"}
    assert {*re.findall(r"VIEW fairlead\.(\w+)", sql)} == views
    for dialect, prefix in (("postgresql", "fairlead."), ("sqlite", "fairlead_")):
        made = {*re.findall(rf"CREATE VIEW {prefix}([a-z]\w*)", "".join(migrations(dialect)))}
        made |= {*re.findall(rf"VIEW {prefix}(\w+)", functions(dialect))}
        assert listed_after("The views that both databases have") == made
    assert {*re.findall(r"\bFL\d{3}\b", sql)} == {f"FL{k:03}" for k in range(1, 11) if k != 4}
    named = {*re.findall(r"\bfairlead_[a-z]+\b", roles("postgresql"))}
    assert named == {*re.findall(r"\bfairlead_[a-z]+\b", PAGE)}


def test_what_is_internal_in_the_store_is_not_exported() -> None:
    exported = {getattr(fairlead, name) for name in fairlead.__all__}
    classes = {each for each in exported if inspect.isclass(each)}
    assert not [each for each in classes if each.__name__.startswith("_")]
