from pathlib import Path

from fairlead import Change, dispatch, load_clusters, spark_session

spark = spark_session()
tables = spark.read.format("fairlead").option("store", f"sqlite:///{Path('tables.db').absolute()}")
decisions = tables.option("cluster", "farm").load("decisions")

lighter = [Change("DEV2", "weight", 100, time=0)]
again = dispatch(decisions, load_clusters("farm.toml"), lighter)
moved = again.join(decisions.select("id", decisions["destination"].alias("before")), "id")
print(moved.where("destination <> before").count(), "of", moved.count(), "would go elsewhere")
