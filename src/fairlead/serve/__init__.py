"""Serve the store's queues and clusters to programs that speak AMQP 1.0."""
