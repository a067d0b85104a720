from fairlead import Store

with Store.open("sqlite:///related.db") as store:
    store.declare("dialogs.toml")
    here = store.begin_dialog("Client", "Shop")
    there = store.begin_dialog("Client", "Shop", related=here)
    here.send("Order", {"item": "lamp"})
    there.send("Order", {"item": "chair"})

    while work := store.take("shop"):
        print("shop:", work.group)
        with work.transaction() as tx:
            for message in work:
                tx.conversation(message.conversation).send("Confirmation", message.body["item"])
            tx.accept()

    with store.take("client") as work:
        print("client:", work.group, [message.body for message in work])
