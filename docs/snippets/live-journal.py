import json
from pathlib import Path

from fairlead import Balancer, load_clusters

with Path("journal.jsonl").open("w") as journal:
    balancer = Balancer(
        load_clusters("pool.toml"),
        journal=lambda row: print(json.dumps(row.to_dict()), file=journal),
    )
    for k in range(12):
        balancer.choose({"id": f"o{k:02}", "time": 60 * k, "group": f"customer-{k % 5}"})
