"""From what was written to numbers: nothing lost, outcomes, shares, waits, over time."""
