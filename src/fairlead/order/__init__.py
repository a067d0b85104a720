"""WHEN: conversation groups, their priorities, and what a reader takes next."""
