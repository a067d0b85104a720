"""Channels of a queue manager: connections on which its messages go to others, and their states."""
