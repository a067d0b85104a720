from fairlead import Cluster, Store

with Store.open("sqlite:///elsewhere.db") as store:
    machines = [{"name": "press-1"}, {"name": "press-2"}]
    store.keep_clusters([Cluster.of("round-robin", name="presses", destination=machines)])
    store.publish("presses", {"print": "p-1"}, id="p-1")

    work = store.take("press-1")
    for message in work:
        print(message.id)
    store.change("presses", "press-1", "state", "down")
    print(store.send_elsewhere("presses", work))
