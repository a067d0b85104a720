from fairlead import Store

now = 0
with Store.open("sqlite:///promote.db", clock=lambda: now) as store:
    for customer in ("kim", "lee", "mia", "noa"):
        store.send("orders", f"order of {customer}", group=customer)
        now += 1

    store.prioritise("orders", "noa", 200)
    store.send("orders", "change of mia's order", group="mia", priority=150)
    print(store.waiting("orders"))

    while work := store.take("orders"):
        with work:
            print(*(message.body for message in work), sep=", ")
