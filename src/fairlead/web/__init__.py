"""What pages share: their frame, templates, charts and style."""
