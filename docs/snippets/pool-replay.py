from pyarrow.json import read_json

from fairlead import load_changes, load_clusters
from fairlead.replay import replay

journal = read_json("gpu-journal.jsonl")
same = replay(journal, load_clusters("gpus.toml"), load_changes("gpu-journal.jsonl"))
print(same.select(["id", "destination"]).slice(0, 5).to_pydict())

live = {row["id"]: row for row in journal.to_pylist() if row["outcome"] == "routed"}
names = ("destination", "reader", "start", "finish")
print(all(row[name] == live[row["id"]][name] for row in same.to_pylist() for name in names))
