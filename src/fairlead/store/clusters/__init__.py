"""WHO in the store: clusters whose state is a row of the user's database."""
