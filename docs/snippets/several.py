import pyarrow as pa

from fairlead import load_changes, load_clusters, route

messages = pa.table(
    {
        "id": [f"m{k:02}" for k in range(12)],
        "time": [5 * (k // 2) for k in range(12)],
        "cluster": ["east", "west"] * 6,
    }
)
routed = route(messages, load_clusters("several.toml"), load_changes("several.csv"))
for cluster in ("east", "west"):
    mine = [row for row in routed.to_pylist() if row["cluster"] == cluster]
    print(cluster, *(f"{row['time']}:{row['destination']}" for row in mine))
