import pyarrow as pa

from fairlead import load_clusters, route

messages = pa.table({"id": ["a", "b", "c"], "time": [1, 2, 3], "colour": ["red", "blue", "red"]})
for row in route(messages, load_clusters("pool.toml"), journal=True).to_pylist():
    print(row["position"], row["colour"], row["stream"], row["version"], row["destination"])
