from fairlead import Change, dispatch, load_clusters, spark_session
from fairlead.pipeline.questions.diff import compare, diff

spark = spark_session()
calls = spark.read.csv("calls.csv", header=True)
pool = load_clusters("pool.toml")
as_is = calls.transform(dispatch, pool)

for weight in (1, 2, 8):
    change = Change("gpu-1", "weight", weight, time="2026-03-02T09:00:00Z")
    found = diff(compare(as_is, dispatch(calls, pool, change)))
    gains = [f"{each.destination} {each.after - each.before:+}" for each in found.destinations]
    print(f"weight {weight}: moved {found.moved} of {found.both}; {', '.join(gains)}")
