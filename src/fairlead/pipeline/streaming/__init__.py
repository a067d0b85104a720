"""Streams that never end: each micro-batch is a dispatch that begins where the last one ended."""
