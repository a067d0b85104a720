"""Queues: messages are sent, taken in order, settled, and kept up to date."""
