"""WHO gets a message: pure, no I/O, no clock, nothing heavy."""
