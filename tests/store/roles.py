"""A store of which users with the roles of the documentation have their rights."""

from collections.abc import Callable
from pathlib import Path
from typing import Final

import psycopg

from fairlead import Cluster, Store
from fairlead.config.sites import Sites
from tests.stores import made_url

SNIPPETS = Path(__file__).parents[2] / "docs" / "snippets"
UrlOf = Callable[[str], str]
SITES: Final = {
    "policy": "ibm-mq",
    "queue_manager": {"name": "QM1", "clusters": ["SHOP"]},
    "remote": [{"name": "QM2"}],
    "channel": [
        {"name": f"TO.{name}", "queue_manager": name, "address": "amqp://127.0.0.1"}
        for name in ("QM1", "QM2")
    ],
    "queue": [
        {"name": queue, "queue_manager": name, "bind": bind}
        for queue, bind in (("PARCELS", "not-fixed"), ("LETTERS", "on-open"))
        for name in ("QM1", "QM2")
    ],
}
"""Queue managers, of which the store is the first."""
ROLES: Final = ("sender", "chooser", "worker", "operator")
"""Each may do what those before it may."""


def store_with_roles() -> UrlOf:
    """Role, owner or nobody -> the URL of one store for a user with that role."""
    url = made_url("postgresql")
    with Store.open(url) as owner:
        owner.make_roles()
        owner.send("orders", "early")
        owner.declare(SNIPPETS / "dialogs.toml")
        owner.load_clusters(SNIPPETS / "bangkok.toml")
        pending = [{"name": "DEV1"}, {"name": "DEV2"}]
        owner.keep_clusters([Cluster.of("fewest-pending", name="pending", destination=pending)])
        owner.keep_clusters(
            [Cluster.of("smartsockets", name="news", options={"subscribers": "any"})]
        )
        ticket = {"policy": "msmq", "store": {"allocation": "ticket"}}
        machines = [{"name": "T1", "weight": 1}, {"name": "T2", "weight": 2}]
        owner.keep_clusters(
            [Cluster.from_dict({**ticket, "destination": machines}, default_name="tickets")]
        )
        sites = Sites.of(SITES, "sites")
        owner.keep_clusters([sites.cluster("QM1")])
        owner.serve_queue_manager("QM1", "sites.QM1")
        owner.moving.begin_channel("TO.QM2", "QM2")
        owner.make_roles()  # the tickets of a cluster have rights of their own
    with psycopg.connect(url, autocommit=True) as connection:
        known = {name for (name,) in connection.execute("SELECT rolname FROM pg_roles").fetchall()}
        for role in {*ROLES, "viewer", "nobody"} - {name.removesuffix("_user") for name in known}:
            member = "" if role == "nobody" else f" IN ROLE fairlead_{role}"
            connection.execute(f"CREATE ROLE {role}_user LOGIN{member}".encode())
    return lambda role: url if role == "owner" else url.replace("//postgres:", f"//{role}_user:")
