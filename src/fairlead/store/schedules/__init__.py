"""Schedules: messages that are sent again and again, each time once."""
