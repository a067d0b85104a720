from fairlead import Store

with Store.open("sqlite:///tour.db") as store:
    print(store.declare("queues.toml"))
