"""The port: a connection that understands named statements, its databases, their schema."""
