from fairlead import Store

with Store.open("sqlite:///tour.db") as store:
    store.send("orders", {"item": "lamp", "count": 2})
    store.send("orders", "a text")
    store.send("orders", b"\x00\x01")

    while work := store.take("orders"):
        with work:
            for message in work:
                print(message.id, message.body)
