"""From files to rows that are messages: read, validate, number, repeat, tell what is no message."""
