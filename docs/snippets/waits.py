import pyarrow as pa

from fairlead import load_changes, load_clusters
from fairlead.replay import replay

calls = pa.table(
    {
        "id": ["a", "b", "c", "d", "e", "f"],
        "time": [0, 0, 1, 2, 3, 4],
        "service_time": [6, 2, 2, 3, 2, 2],
        "group": ["kim", "lee", "mia", "kim", "noa", "noa"],
        "priority": [None, None, None, None, None, 200],
        "rollbacks": [0, 0, 0, 0, 1, 0],
    }
)
found = replay(calls, load_clusters("desks.toml"), load_changes("desks.csv"))

columns = ["id", "attempt", "destination", "reader", "start", "finish", "wait", "outcome"]
print("  ".join(columns))
for row in found.select(columns).to_pylist():
    print("  ".join(str("-" if row[name] is None else row[name]) for name in columns))
