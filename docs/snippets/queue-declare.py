from fairlead import Store

with Store.open("sqlite:///shop.db") as store:
    print(store.declare("queues.toml"))
