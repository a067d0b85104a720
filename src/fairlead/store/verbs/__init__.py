"""The verbs of a store and of its transactions, by subject."""
