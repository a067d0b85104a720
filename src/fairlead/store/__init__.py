"""Durable queues in the user's own database, in the order that `order/` decides."""
