from fairlead import dispatch, load_clusters, rejected, spark_session

spark = spark_session()  # or the session that you have
calls = spark.read.csv("calls.csv", header=True)
pool = load_clusters("pool.toml")

decided = calls.transform(dispatch, pool)
for row in decided.groupBy("destination").count().orderBy("destination").collect():
    print(row["destination"], row["count"])
for row in rejected(calls, pool).orderBy("reason").collect():
    print(row["id"], row["reason"])
