import json
import sqlite3
import time

connection = sqlite3.connect("by-hand.db")
connection.executescript("""
    CREATE TABLE orders (id TEXT PRIMARY KEY, item TEXT NOT NULL);
    CREATE TABLE outbox (
        id INTEGER PRIMARY KEY,
        body TEXT NOT NULL,
        locked_until REAL NOT NULL DEFAULT 0,
        attempts INTEGER NOT NULL DEFAULT 0,
        error TEXT
    );
""")


def place(order, item):
    with connection:
        connection.execute("INSERT INTO orders VALUES (?, ?)", [order, item])
        body = json.dumps({"order": order})
        connection.execute("INSERT INTO outbox (body) VALUES (?)", [body])


def relay_one(deliver):
    """Deliver the oldest row that nobody works on; whether there was one."""
    now = time.time()
    with connection:
        found = connection.execute(
            "UPDATE outbox SET locked_until = ?, attempts = attempts + 1 WHERE id = ("
            "  SELECT id FROM outbox WHERE locked_until <= ? AND attempts < 5"
            "  ORDER BY id LIMIT 1) RETURNING id, body, attempts",
            [now + 60, now],
        ).fetchone()
    if found is None:
        return False
    row, body, attempts = found
    try:
        deliver(json.loads(body))
    except OSError as error:
        with connection:
            connection.execute(
                "UPDATE outbox SET locked_until = ?, error = ? WHERE id = ?",
                [time.time() + 2**attempts, str(error), row],
            )
    else:
        with connection:
            connection.execute("DELETE FROM outbox WHERE id = ?", [row])
    return True


place("o-1", "lamp")
place("o-2", "chair")
while relay_one(print):
    pass
connection.close()
