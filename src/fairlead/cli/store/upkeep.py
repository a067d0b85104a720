"""Make a store's schema, keep the store small, and bring it back after a backup."""

from __future__ import annotations

from fairlead.cli.output import acted
from fairlead.cli.store.printing import print_json, print_rows
from fairlead.store.database.schema import LOCK_TIMEOUT
from fairlead.store.store import Store
from fairlead.text import plural


def init(url: str, lock_timeout: float = LOCK_TIMEOUT, *, upgrade: bool = False) -> None:
    """Make the schema, or bring it up to this version; say which it is. `upgrade`: make none."""
    with Store.open(url, create=not upgrade, upgrade=upgrade, lock_timeout=lock_timeout) as store:
        acted()
        before, now = store.upgraded or (0, 0)
        did = "was there" if before == now else "was made" if not before else f"was {before}"
        print(f"{store.place}: schema version {now} ({did})")


def prune(store: Store, keep: float) -> None:
    """Forget old events and known ids."""
    count = store.prune(keep)
    acted()
    print(f"{store.place}: forgotten: {plural(count, 'row')}")


def retention(store: Store, days: float | None) -> None:
    """Set for how many days events are kept, or only say it."""
    if days is not None:
        store.set_retention(days)
        acted()
    period = store.retention()
    print(
        f"{store.place}: events are kept " + ("for ever" if period is None else f"{period:g} days")
    )


def check(store: Store, *, repair: bool, as_json: bool) -> int:
    """Print what should not be there; the exit status."""
    faults = store.check(repair=repair)
    acted()
    if as_json:
        print_json({**fault._asdict(), "mended": repair} for fault in faults)
    else:
        print_rows([fault._asdict() for fault in faults], right=("found",))
        end = "nothing found" if not faults else "mended" if repair else "`--repair` mends it"
        print(f"{store.place}: {end}")
    return 1 if faults else 0


def roles(store: Store) -> None:
    """Make the roles, and say what to do with them."""
    store.make_roles()
    acted()
    print(
        f"{store.place}: made fairlead_sender, fairlead_chooser, fairlead_worker, "
        "fairlead_operator and fairlead_viewer; give them to users: "
        "GRANT fairlead_worker TO packer;"
    )


def recover(store: Store) -> None:
    """Take back all work."""
    count = store.recover()
    acted()
    print(f"{store.place}: taken back: {plural(count, 'group')}")
