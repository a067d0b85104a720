"""The page about a recommendation: what it costs to wait less, why, and what breaks it."""
