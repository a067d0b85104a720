"""The files a user writes: clusters in TOML, changes in a small table."""
