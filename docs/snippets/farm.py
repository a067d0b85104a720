from fairlead import Store

store = Store.open("sqlite:///farm.db")
print(store.load_clusters("farm.toml"))

decision = store.next_destination("farm")
print(decision.destination, decision.address, decision.sequence)
print([store.next_destination("farm").destination for _ in range(6)])

store.change("farm", "DEV3", "enabled", False)
print([store.next_destination("farm").destination for _ in range(6)])
store.close()
