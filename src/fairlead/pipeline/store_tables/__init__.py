"""A store as tables of Spark: `spark.read.format("fairlead")`."""
