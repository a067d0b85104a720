"""Choice rules: small state machines over sequences of integers."""
