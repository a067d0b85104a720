"""The documented systems and everyday policies: each is eliminations, then a choice rule."""

from __future__ import annotations

from typing import Final

from fairlead.balance.policies.composed import PRESETS
from fairlead.balance.policies.ibm_mq import IbmMq
from fairlead.balance.policies.msmq import Msmq
from fairlead.balance.policies.nanomsg import Nanomsg
from fairlead.balance.policies.priority_failover import PriorityFailover
from fairlead.balance.policies.smartsockets import SmartSockets
from fairlead.balance.state import AnyState

POLICIES: Final[dict[str, type[AnyState]]] = {
    policy.name: policy
    for policy in (Msmq, IbmMq, SmartSockets, Nanomsg, *PRESETS, PriorityFailover)
}
