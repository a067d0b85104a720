"""The documented systems, each composed from eliminations and a choice rule."""

from __future__ import annotations

from typing import Any, Final

from fairlead.balance.policies.ibm_mq import IbmMq
from fairlead.balance.policies.msmq import Msmq
from fairlead.balance.policies.nanomsg import Nanomsg
from fairlead.balance.policy import Policy

POLICIES: Final[dict[str, type[Policy[Any, Any, Any]]]] = {
    policy.name: policy for policy in (Msmq, IbmMq, Nanomsg)
}
