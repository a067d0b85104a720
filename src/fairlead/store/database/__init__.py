"""The port: a connection that understands named statements, its two databases, their schema."""
