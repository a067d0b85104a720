"""Destinations outside: each has a queue, and what waits there leaves for it by itself."""
