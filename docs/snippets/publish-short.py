from fairlead import Store

with Store.open("sqlite:///pool.db") as store:
    store.load_clusters("pool.toml")
    print([store.next_destination("pool").destination for _ in range(7)])

    store.change("pool", "gpu-1", "enabled", False)
    print(store.publish("pool", "train model 7").destination)
