"""Channels between queue managers: what is sent on them, once, and what has come."""
