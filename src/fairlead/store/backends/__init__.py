"""What a store has of each kind of database; the port is `port.py`."""
