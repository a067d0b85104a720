"""Message types, contracts and services, as a store keeps them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from fairlead.balance.objects import hint, listed, repr_of
from fairlead.errors import MessageError
from fairlead.store.database.context import BaseContext
from fairlead.store.database.port import Database
from fairlead.store.queues.endpoints import INITIATOR

MESSAGE_TYPE: Final = "message_type"
CONTRACT: Final = "contract"
SERVICE: Final = "service"


class MessageType(NamedTuple):
    """What bodies of a type must be."""

    name: str
    validation: str = "none"
    """none | empty | xml | json"""
    schema: dict[str, Any] | None = None
    """A JSON Schema."""


class Contract(NamedTuple):
    """Which types each side may send."""

    name: str
    initiator: Sequence[str] = ()
    target: Sequence[str] = ()
    any: Sequence[str] = ()

    def types(self, side: int) -> list[str]:
        """What a side may send."""
        return [*(self.initiator if side == INITIATOR else self.target), *self.any]


class DeclaredService(NamedTuple):
    """A service: what comes to it waits in a queue."""

    name: str
    queue: str
    contracts: Sequence[str] = ()
    """Those in which others may begin a dialog with it."""
    max_readers: int = 1


class Declared(NamedTuple):
    """All services, contracts and message types that were declared."""

    message_types: Mapping[str, MessageType]
    contracts: Mapping[str, Contract]
    services: Mapping[str, DeclaredService]

    def service(self, name: object, what: str = "service") -> DeclaredService:
        """A service by its name. Raises MessageError."""
        return self.services[_known(what, name, self.services)]

    def contract(self, name: object) -> Contract:
        """A contract by its name. Raises MessageError."""
        return self.contracts[_known("contract", name, self.contracts)]

    def message_type(self, name: str) -> MessageType:
        """A message type by its name; bodies of one that is not declared may be anything."""
        return self.message_types.get(name, MessageType(name))


class Cache:
    """What is declared, as this process has read it last."""

    def __init__(self) -> None:
        self.revision = -1
        """How often something was declared by then."""
        self._found = Declared({}, {}, {})

    def known(self, database: Database) -> Declared:
        """What is declared, as far as it was read; for who is told if it has changed."""
        return self.get(database) if self.revision < 0 else self._found

    def get(self, database: Database, revision: int | None = None) -> Declared:
        """What is declared; it is read anew where that has changed.

        `revision`: how often something was declared, where the caller knows.
        """
        if revision is None:
            ((revision,),) = database.run("revision")
        if revision != self.revision:
            self._found, self.revision = read(database), revision
        return self._found


def read(database: Database) -> Declared:
    """Read what was declared of dialogs in this database."""
    definitions: dict[str, dict[str, Any]] = {MESSAGE_TYPE: {}, CONTRACT: {}, SERVICE: {}}
    kinds: dict[str, type[Any]] = {
        MESSAGE_TYPE: MessageType,
        CONTRACT: Contract,
        SERVICE: DeclaredService,
    }
    for kind, name, definition in database.run("declared"):
        definitions[kind][name] = kinds[kind](name, **json.loads(definition))
    return Declared(definitions[MESSAGE_TYPE], definitions[CONTRACT], definitions[SERVICE])


def write(database: Database, kind: str, each: MessageType | Contract | DeclaredService) -> None:
    """Declare something, or declare it anew."""
    plain = each._asdict()
    database.run("declare", kind=kind, name=plain.pop("name"), definition=json.dumps(plain))


def _known(what: str, name: object, known: Mapping[str, object]) -> str:
    if not isinstance(name, str) or name not in known:
        allowed = listed(list(known)) or "none; `fairlead declare FILE` declares some"
        raise MessageError(
            f"{what}: found {repr_of(name)}, allowed: {allowed}{hint(str(name), list(known))}"
        )
    return name


@dataclass(frozen=True, kw_only=True)
class DialogContext(BaseContext):
    """The same, and what a store remembers of what is declared in it."""

    declared: Cache
