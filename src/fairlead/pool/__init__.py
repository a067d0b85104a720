"""Policy and order in one process: who works on what comes, and what goes next, while it waits."""
