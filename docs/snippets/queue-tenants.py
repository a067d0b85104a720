from fairlead import Store

with Store.open("sqlite:///tour.db") as store:
    store.set_order("jobs", weights={"gold": 2})
    for k in range(6):
        store.send("jobs", f"g{k}", tenant="gold")
    for k in range(3):
        store.send("jobs", f"s{k}", tenant="small")

    order = []
    while work := store.take("jobs"):
        with work:
            order += [message.body for message in work]
    print(*order)
