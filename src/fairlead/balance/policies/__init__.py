"""The documented systems and everyday policies: each is eliminations, then a choice rule."""

from __future__ import annotations

from typing import Final

from fairlead.balance.policies.composed import PRESETS
from fairlead.balance.policies.ibm_mq import IBM_MQ
from fairlead.balance.policies.msmq import MSMQ
from fairlead.balance.policies.nanomsg import NANOMSG
from fairlead.balance.policies.priority_failover import PRIORITY_FAILOVER
from fairlead.balance.policies.smartsockets import SMARTSOCKETS
from fairlead.balance.policy import Policy

POLICIES: Final[dict[str, Policy]] = {
    policy.name: policy
    for policy in (MSMQ, IBM_MQ, SMARTSOCKETS, NANOMSG, *PRESETS, PRIORITY_FAILOVER)
}
