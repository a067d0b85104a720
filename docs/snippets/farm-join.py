import sqlite3

from fairlead import Store

store = Store.open("sqlite:///farm.db")
connection = sqlite3.connect("farm.db", isolation_level=None)
connection.execute("CREATE TABLE renders (picture TEXT, machine TEXT)")

connection.execute("BEGIN IMMEDIATE")
with store.join(connection) as tx:
    chosen = tx.next_destination("farm")
    connection.execute("INSERT INTO renders VALUES (?, ?)", ("p-1", chosen.destination))
connection.commit()
print(connection.execute("SELECT * FROM renders").fetchall(), store.pool("farm").choices)

connection.execute("BEGIN IMMEDIATE")
with store.join(connection) as tx:
    tx.next_destination("farm")
connection.rollback()
print(store.pool("farm").choices)

connection.close()
store.close()
