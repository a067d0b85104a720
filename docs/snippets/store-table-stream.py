from pathlib import Path

from fairlead import spark_session

spark = spark_session()
url = f"sqlite:///{Path('tables.db').absolute()}"
events = spark.readStream.format("fairlead").option("store", url).load("journal")

folder = Path("events").absolute()
follow = events.writeStream.format("parquet").option("checkpointLocation", f"{folder}-seen")
follow.trigger(availableNow=True).start(str(folder)).awaitTermination(600)
print(spark.read.parquet(str(folder)).count())
