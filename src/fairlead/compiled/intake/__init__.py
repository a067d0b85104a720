"""The one reader of tables in memory: which rows are messages, in order, and why others are not."""
