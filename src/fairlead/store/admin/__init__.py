"""What an operator asks and sets."""
