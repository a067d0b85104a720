"""The commands with their options, by what a user does; what each does stands in `cli`."""
