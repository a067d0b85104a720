"""From rows to attempts: narrow columns to the replay kernel and back."""
