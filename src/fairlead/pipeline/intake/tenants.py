"""Tenants: a group belongs to the tenant of its first message in order; others are rejected."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from fairlead.compiled.plan import Plan
from fairlead.compiled.row_checks import LONGEST_SHOWN
from fairlead.pipeline.columns import GOOD, ID, KEY, REASON
from fairlead.pipeline.intake.validate import text
from fairlead.runs.constants import PREFIX

WHERE = PREFIX + "where"
NAME = PREFIX + "name"
OWNER = PREFIX + "owner"


def one_tenant(rows: DataFrame, plans: Iterable[Plan]) -> DataFrame:
    """The same rows, not GOOD and with a REASON every message whose group is another tenant's.

    `rows`: with KEY, ID, GOOD and REASON. A group is one inside its cluster. Nothing is sorted, and
    no task gets all messages of a large group; where all is well, hashes are compared and no more.
    """
    if not {"group", "tenant"} <= set(rows.columns):
        return rows
    for names in _clusters(plans, named="cluster" in rows.columns):
        rows = _one_tenant(rows, names)
    return rows


def _clusters(plans: Iterable[Plan], *, named: bool) -> list[Sequence[str]]:
    """What messages call the clusters that have them, in each plan; "": the only one."""
    clusters: dict[tuple[str, ...], None] = {}
    for plan in plans:
        names = sorted(cluster.name for cluster in plan.clusters)
        alone = ("",) if len(names) == 1 else ()
        clusters[(*alone, *names) if named else alone] = None
    return list(clusters)


def _one_tenant(rows: DataFrame, names: Sequence[str]) -> DataFrame:
    """... as a plan has it whose clusters are called so."""
    # A message need not name the only cluster, so all that have the plan's are in that one.
    where = F.lit("") if "" in names else text(rows, "cluster")
    keyed = rows.withColumns({WHERE: where, NAME: text(rows, "group")})
    tenant = text(rows, "tenant")
    condition = F.col(GOOD) & (F.col(NAME) != "") & text(rows, "cluster").isin(*names)
    grouped = keyed.where(condition)
    hashed = F.xxhash64(tenant)
    several = (
        grouped.groupBy(WHERE, NAME)
        .agg(F.min(hashed).alias("least"), F.max(hashed).alias("most"))
        .where("least < most")
        .select(WHERE, NAME)
    )
    if several.isEmpty():
        return rows
    first = F.min_by(tenant, F.struct(KEY, ID)).alias(OWNER)
    owners = grouped.join(several, [WHERE, NAME], "left_semi").groupBy(WHERE, NAME).agg(first)
    owned = F.coalesce(tenant == F.col(OWNER), F.lit(True))  # null: its group has only one tenant
    joined = grouped.join(owners, [WHERE, NAME], "left")
    checked = joined.withColumns({GOOD: owned, REASON: _reason(tenant)})
    # Messages of no group take no part in the join, where they would all be of one key.
    return keyed.where(~condition).unionByName(checked.drop(OWNER)).drop(WHERE, NAME)


def _reason(tenant: Column) -> Column:
    parts = [F.lit("tenant: found "), _shown(tenant), F.lit(", allowed: "), _shown(F.col(OWNER))]
    return F.concat(*parts, F.lit(", as the first message of its group has"))


def _shown(tenant: Column) -> Column:
    quoted = F.concat(F.lit("'"), F.substring(tenant, 1, LONGEST_SHOWN), F.lit("'"))
    return F.when(tenant == "", F.lit("nothing")).otherwise(quoted)
