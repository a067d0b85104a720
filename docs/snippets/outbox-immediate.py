from sqlalchemy import create_engine, event, text

from fairlead import Store

store = Store.open("sqlite:///immediate.db")
engine = create_engine("sqlite:///immediate.db")


@event.listens_for(engine, "connect")
def leave_beginning_to_us(connection, _):
    connection.isolation_level = None


@event.listens_for(engine, "begin")
def begin(connection):
    connection.exec_driver_sql("BEGIN IMMEDIATE")


with engine.begin() as connection:
    found = connection.execute(text("SELECT count(*) FROM sqlite_master")).scalar()
    with store.join(connection) as tx:
        tx.send("counted", {"there are tables": found > 0})

print([message.body for message in store.take("counted")])
engine.dispose()
store.close()
