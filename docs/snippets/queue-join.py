import sqlite3

from fairlead import Store

store = Store.open("sqlite:///tour.db")
connection = sqlite3.connect("tour.db")
connection.execute("CREATE TABLE orders (id TEXT PRIMARY KEY, item TEXT NOT NULL)")

connection.execute("BEGIN IMMEDIATE")
connection.execute("INSERT INTO orders VALUES ('o-7', 'lamp')")
with store.join(connection) as tx:
    tx.send("to pack", "o-7")
connection.rollback()
print(store.take("to pack"))

connection.execute("BEGIN IMMEDIATE")
connection.execute("INSERT INTO orders VALUES ('o-7', 'lamp')")
with store.join(connection) as tx:
    tx.send("to pack", "o-7")
connection.commit()
print([message.body for message in store.take("to pack")])

connection.close()
store.close()
