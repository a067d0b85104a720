"""What speaks the protocol of a destination; the packages of the others are not loaded."""

from __future__ import annotations

from fairlead.balance.outside import AMQP
from fairlead.forward.service import OutsideService, check_login
from fairlead.forward.target import OutsideTarget


def service_of(target: OutsideTarget) -> OutsideService:
    """What speaks the protocol of a target. Raises ConfigError for files that cannot be used."""
    check_login(target)
    if target.address.scheme in AMQP:
        from fairlead.forward.amqp import AmqpService

        return AmqpService(target)
    from fairlead.forward.http import HttpService

    return HttpService(target)
