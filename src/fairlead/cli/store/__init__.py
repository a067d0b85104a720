"""The commands of the store: they parse, call and print."""
