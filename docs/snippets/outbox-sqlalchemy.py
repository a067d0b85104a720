from sqlalchemy import create_engine, text

from fairlead import Store

store = Store.open("sqlite:///alchemy.db")
engine = create_engine("sqlite:///alchemy.db")

with engine.begin() as connection:
    connection.execute(text("CREATE TABLE orders (id TEXT PRIMARY KEY, item TEXT NOT NULL)"))

with engine.begin() as connection:
    order = {"id": "o-3", "item": "table"}
    connection.execute(text("INSERT INTO orders VALUES (:id, :item)"), order)
    with store.join(connection) as tx:
        tx.send("placed", {"order": order["id"]}, group="kim")

while work := store.take("placed"):
    with work:
        print(work.group, [message.body for message in work])
engine.dispose()
store.close()
