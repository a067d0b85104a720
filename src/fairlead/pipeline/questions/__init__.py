"""What is asked of finished runs: what differs, what a raise would do, why."""
