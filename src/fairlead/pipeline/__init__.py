"""The data pipeline on Spark: each stage is a function from DataFrame to DataFrame."""
