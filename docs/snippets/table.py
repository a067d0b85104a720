import pyarrow as pa

from fairlead import load_clusters, route

calls = pa.table({"id": ["c03", "c01", "c02", "c04"], "time": [1.0, 0.0, 0.5, 1.5]})

routed = route(calls, load_clusters("pool.toml"))
for row in routed.select(["id", "destination", "outcome", "sequence"]).to_pylist():
    print(row)
