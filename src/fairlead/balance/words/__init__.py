"""What is said of policies, states and choices in words."""
