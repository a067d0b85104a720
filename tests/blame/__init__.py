"""Who is blamed: a story for each cell of docs/explanation/blame.md."""
