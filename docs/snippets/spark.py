from fairlead import dispatch, load_clusters, spark_session

spark = spark_session()  # or your own session: Fairlead takes any DataFrame

calls = spark.read.csv("calls.csv", header=True)
routed = calls.transform(dispatch, load_clusters("pool.toml"))
routed.select("id", "time", "destination", "outcome", "sequence").show()
