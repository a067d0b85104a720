"""Declare queues, message types, contracts, services and schedules, as a file says."""

from __future__ import annotations

import json

from fairlead.balance.times import MICROS
from fairlead.config.services import ServicesFile as File
from fairlead.config.services import check
from fairlead.errors import ConfigError
from fairlead.store.admin import queues as admin
from fairlead.store.database.clock import time_of
from fairlead.store.database.port import Database
from fairlead.store.dialogs.declared import (
    CONTRACT,
    MESSAGE_TYPE,
    SERVICE,
    Contract,
    DeclaredService,
    MessageType,
    read,
    write,
)
from fairlead.store.journal.retention import DAY
from fairlead.store.queues.backoff import kept_backoff
from fairlead.store.queues.limiting import Limit, kept_limits
from fairlead.store.queues.settings import made_queue
from fairlead.store.schedules.ticking import put


def declare(database: Database, file: File, now: int | None, path: str) -> None:
    """Declare all that a file says, in this transaction. Raises ConfigError."""
    known = read(database)
    try:
        check(file, known.message_types, known.contracts)
    except ConfigError as error:
        raise ConfigError(f"{path}: {error}", error.place) from None
    for section in file.queues:
        named = {key: getattr(section, key) for key in (*admin.ORDER, *admin.LIMITS)}
        named["max_failures"] = section.max_failures or None
        named["retry"] = kept_backoff(section.retry.whole if section.retry else None)
        named["count_as_failure"] = json.dumps(section.count_as_failure)
        named["limits"] = kept_limits(
            [
                Limit(
                    *(limit.of, limit.match or "*", limit.in_work, limit.interval),
                    burst=limit.burst or 1,
                )
                for limit in section.limits
            ]
        )
        named["keep_dead"] = section.keep_dead and int(section.keep_dead * DAY * MICROS)
        admin.set_queue(database, section.name, now, named)
    for kind in file.message_types:
        write(database, MESSAGE_TYPE, MessageType(kind.name, kind.validation, kind.schema))
    for contract in file.contracts:
        sides = (list(contract.initiator), list(contract.target), list(contract.any))
        write(database, CONTRACT, Contract(contract.name, *sides))
    for service in file.services:
        queue = made_queue(database, service.queue, now)
        database.run("serve", queue=queue.id)
        declaration = DeclaredService(
            service.name, service.queue, list(service.contracts), service.max_readers
        )
        write(database, SERVICE, declaration)
    for schedule in file.schedules:
        made_queue(database, schedule.queue, now)
        try:
            put(database, schedule, time_of(database, now))
        except ConfigError as error:
            raise ConfigError(f"{path}: {error}") from None
    database.run("has_declared")
