import pyarrow as pa

from fairlead import load_clusters, route

messages = pa.table({"id": list("123456"), "time": range(6), "service_time": [2.0] * 6})
routed = route(messages, load_clusters("fewest-pending.toml"))
print(*routed["destination"].to_pylist())
