from fairlead import Cluster, Store, deliver, spark_session

MACHINES = [{"name": "DEV1", "weight": 100}, {"name": "DEV2", "weight": 200}]
spark = spark_session()
night = spark.range(3000).selectExpr(
    "concat('j', id) AS id", "id AS time", "'resize' AS type", "id % 7 AS file", "'' AS `group`"
)
with Store.open("sqlite:///nightly.db", create=True) as store:
    store.keep_clusters([Cluster.of("msmq", name="pool", destination=MACHINES)])
    store.publish("pool", {"type": "resize", "file": 8})  # somebody was there before
    delivered = deliver(night, store, run="2026-11-28", body=["type", "file"])
    print(delivered.published, dict(delivered.destinations["pool"]))
    with store.take("DEV1") as work:
        print([message.body for message in work])
    print(store.pool("pool").choices, "choices so far")
    print("the next goes to", store.publish("pool", {"type": "resize", "file": 9}).destination)
