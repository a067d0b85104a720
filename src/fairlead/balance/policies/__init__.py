"""The documented systems and everyday policies: each is eliminations, then a choice rule."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from importlib import import_module
from typing import Final

from fairlead.balance.policies.composed import PRESETS
from fairlead.balance.policy import Policy

MODULES: Final = {
    "msmq": "msmq.MSMQ",
    "ibm-mq": "ibm_mq.IBM_MQ",
    "smartsockets": "smartsockets.SMARTSOCKETS",
    "nanomsg": "nanomsg.NANOMSG",
    **{preset.name: "" for preset in PRESETS},
    "priority-failover": "priority_failover.PRIORITY_FAILOVER",
}
"""Name → where it is; "": among the presets."""


class _Policies(Mapping[str, Policy]):
    """The policies by name; the module of one is loaded when that is asked for."""

    def __init__(self) -> None:
        self._loaded = {preset.name: preset for preset in PRESETS}

    def __getitem__(self, name: str) -> Policy:
        if name not in self._loaded:
            module, attribute = MODULES[name].split(".")
            self._loaded[name] = getattr(import_module(f"{__name__}.{module}"), attribute)
        return self._loaded[name]

    def __contains__(self, name: object) -> bool:
        return name in MODULES

    def __iter__(self) -> Iterator[str]:
        return iter(MODULES)

    def __len__(self) -> int:
        return len(MODULES)


POLICIES: Final[Mapping[str, Policy]] = _Policies()
