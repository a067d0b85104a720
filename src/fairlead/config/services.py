"""What a store is declared by: queues, message types, contracts, services and schedules."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Final, Literal

import msgspec
from msgspec import Meta

from fairlead.balance.objects import FileTable, Name, Names, hint, listed
from fairlead.balance.refusal import place_in_words, read
from fairlead.config.queues import QueueTable, check_name
from fairlead.config.schedules import Schedule
from fairlead.config.schemas import Schema, schema_of
from fairlead.config.toml import file_and_line, parsed
from fairlead.errors import ConfigError

END_DIALOG: Final = "EndDialog"
"""The other side has ended; it comes after all that it said."""
ERROR: Final = "Error"
"""What has gone wrong in a conversation; it is read before the rest."""
DIALOG_TIMER: Final = "DialogTimer"
"""The timer of this end has run out."""
RESERVED: Final = (END_DIALOG, ERROR, DIALOG_TIMER)
"""Types of the messages that a store itself sends on a dialog."""
MAX_READERS: Final = 32_767


class MessageTypeTable(FileTable, frozen=True, kw_only=True):
    """A `[[message_type]]`: what a body of this type has to be."""

    name: Name
    validation: Literal["none", "empty", "xml", "json"] = "none"
    schema: Schema | None = None
    """A JSON Schema that was checked; of a file: what the file holds."""

    def __post_init__(self) -> None:
        check_name("name", self.name)
        _not_reserved("name", self.name)
        if self.schema is not None and self.validation != "json":
            raise ValueError(
                f"schema: found one with the validation {self.validation}, allowed: only with json"
            )


class ContractTable(FileTable, frozen=True, kw_only=True):
    """A `[[contract]]`: which side of a dialog sends which message types."""

    name: Name
    initiator: Names = []
    target: Names = []
    any: Names = []

    def __post_init__(self) -> None:
        check_name("name", self.name)
        lists: dict[str, str] = {}
        for key, name in self.types:
            check_name(key, name)
            _not_reserved(key, name)
            if name in lists:
                other = "twice" if lists[name] == key else f"in {lists[name]}, too"
                raise ValueError(f"{key}: found {name!r} {other}, allowed: each type once")
            lists[name] = key
        if not lists:
            raise ValueError(
                "initiator: found no message type here, in target or in any, allowed: at least one"
            )

    @property
    def types(self) -> list[tuple[str, str]]:
        """Each message type, after the list that it stands in."""
        lists = {"initiator": self.initiator, "target": self.target, "any": self.any}
        return [(key, name) for key, names in lists.items() for name in names]


class ServiceTable(FileTable, frozen=True, kw_only=True):
    """A `[[service]]`: what dialogs begin at and lead to."""

    name: Name
    queue: Name
    contracts: Names = []
    """Those that it can be the target of."""
    max_readers: Annotated[int, Meta(ge=1, le=MAX_READERS)] = 1
    handler: Name | None = None
    """MODULE:NAME."""

    def __post_init__(self) -> None:
        check_name("name", self.name)
        check_name("queue", self.queue)
        for name in self.contracts:
            check_name("contracts", name)
        _once("contracts", self.contracts)
        if self.handler is not None:
            module, _, name = self.handler.partition(":")
            if not (module and name and self.handler.isprintable()):
                raise ValueError(f"handler: found {self.handler!r}, allowed: MODULE:NAME")


class ServicesFile(FileTable, frozen=True, kw_only=True):
    """All of it, in the order of the file."""

    queues: list[QueueTable] = msgspec.field(name="queue", default_factory=list)
    message_types: list[MessageTypeTable] = msgspec.field(name="message_type", default_factory=list)
    contracts: list[ContractTable] = msgspec.field(name="contract", default_factory=list)
    services: list[ServiceTable] = msgspec.field(name="service", default_factory=list)
    schedules: list[Schedule] = msgspec.field(name="schedule", default_factory=list)

    def __post_init__(self) -> None:
        tables = self._tables
        for key, table in tables.items():
            _once(key, [entry.name for entry in table])
        if not any(tables.values()):
            raise ValueError(
                "the table: found nothing, allowed: at least one "
                f"{listed(f'[[{key}]]' for key in tables)}"
            )

    @property
    def _tables(
        self,
    ) -> dict[
        str, Sequence[QueueTable | MessageTypeTable | ContractTable | ServiceTable | Schedule]
    ]:
        return {
            "queue": self.queues,
            "message_type": self.message_types,
            "contract": self.contracts,
            "service": self.services,
            "schedule": self.schedules,
        }

    @property
    def names(self) -> list[str]:
        """The names of all: queues, message types, contracts, services, schedules."""
        return [entry.name for table in self._tables.values() for entry in table]


def load_declared(path: str | Path) -> ServicesFile:
    """What a file declares; each table is right for itself, `check` holds them together.

    Raises ConfigError with one line that names file, line, key, what was found and what is allowed.
    """
    text, plain = parsed(path)
    try:
        return read(_with_schemas(plain, Path(path).parent), ServicesFile)
    except ConfigError as error:
        where = file_and_line(path, text, error.place)
        raise ConfigError(f"{where}: {error}", error.place) from None


def check(
    declared: ServicesFile,
    known_types: Collection[str] = (),
    known_contracts: Collection[str] = (),
) -> None:
    """Refuse names that lead nowhere: neither declared here nor known from elsewhere.

    Raises ConfigError, with the place.
    """
    types = [message_type.name for message_type in declared.message_types]
    contracts = [contract.name for contract in declared.contracts]
    _known("message type", _types_named(declared), [*types, *known_types], declared)
    _known("contract", _contracts_named(declared), [*contracts, *known_contracts], declared)


Place = tuple[str | int, ...]


def _types_named(declared: ServicesFile) -> Iterator[tuple[Place, str]]:
    for k, contract in enumerate(declared.contracts):
        for key, name in contract.types:
            yield ("contract", k, key), name


def _contracts_named(declared: ServicesFile) -> Iterator[tuple[Place, str]]:
    for k, service in enumerate(declared.services):
        for name in service.contracts:
            yield ("service", k, "contracts"), name


def _known(
    what: str, named: Iterable[tuple[Place, str]], known: Sequence[str], declared: ServicesFile
) -> None:
    every = dict.fromkeys(known)
    for place, name in named:
        if name not in every:
            where = place_in_words(msgspec.to_builtins(declared), place)
            raise ConfigError(
                f"{where}: found the {what} {name!r}, "
                f"allowed: {listed(every) or 'none: there is no ' + what}{hint(name, every)}",
                place,
            )


def _with_schemas(plain: Mapping[str, Any], folder: Path) -> dict[str, Any]:
    """The same with the schemas that its message types name."""
    tables = plain.get("message_type")
    if not isinstance(tables, list):
        return dict(plain)
    copies = [dict(table) if isinstance(table, dict) else table for table in tables]
    for k, copy in enumerate(copies):
        if isinstance(copy, dict) and "schema" in copy:
            place = ("message_type", k, "schema")
            try:
                copy["schema"] = schema_of(copy["schema"], folder)
            except ConfigError as error:
                raise ConfigError(f"{place_in_words(plain, place)}: {error}", place) from None
    return {**plain, "message_type": copies}


def _not_reserved(key: str, name: str) -> None:
    if name in RESERVED:
        raise ValueError(
            f"{key}: found {name!r}, which only a store itself sends, allowed: another name"
        )


def _once(key: str, names: Sequence[str]) -> None:
    met = set[str]()
    for name in names:
        if name in met:
            raise ValueError(f"{key}: found {name!r} twice, allowed: each name once")
        met.add(name)
