"""Spark itself: the session, the Java that it runs on, what its executors have."""
