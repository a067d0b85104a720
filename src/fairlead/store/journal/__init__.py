"""The journal: what has happened, numbered, kept for a time, and read in order."""
