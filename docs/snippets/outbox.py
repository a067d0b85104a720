import sqlite3

from fairlead import Store

store = Store.open("sqlite:///outbox.db")
connection = sqlite3.connect("outbox.db")
connection.execute("CREATE TABLE orders (id TEXT PRIMARY KEY, item TEXT NOT NULL)")


def place(order, item):
    with connection:
        connection.execute("INSERT INTO orders VALUES (?, ?)", [order, item])
        with store.join(connection) as tx:
            tx.send("placed", {"order": order})


def relay_one(deliver):
    """Deliver the oldest message that nobody works on; whether there was one."""
    if work := store.take("placed"):
        try:
            deliver(next(work).body)
            work.accept()
        except OSError as error:
            work.release(delay=2**work.attempt, error=str(error))
    return work is not None


place("o-1", "lamp")
place("o-2", "chair")
while relay_one(print):
    pass
connection.close()
store.close()
