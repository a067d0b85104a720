"""The engine in memory: what the pipeline does on Spark, for a table that fits, without Java."""
