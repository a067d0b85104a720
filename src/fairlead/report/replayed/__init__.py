"""The page about a replay: its scenarios side by side."""
