from pathlib import Path

from fairlead import Store, spark_session

url = f"sqlite:///{Path('tables.db').absolute()}"
with Store.open(url) as store:
    store.load_clusters("farm.toml")
    for k in range(14):
        store.publish("farm", {"picture": k}, id=f"p-{k}")
    while work := store.take("DEV3"):
        with work:
            print([message.id for message in work], "done")

spark = spark_session()  # or the session that you have
tables = spark.read.format("fairlead").option("store", url)

journal = tables.load("journal")
for row in journal.groupBy("kind").count().orderBy("kind").collect():
    print(row["kind"], row["count"])

waiting = tables.load("waiting")
for row in waiting.groupBy("queue").sum("messages").orderBy("queue").collect():
    print(row["queue"], row["sum(messages)"])
