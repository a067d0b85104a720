from fairlead import Store

with Store.open("sqlite:///dialogs.db") as store:
    store.declare("dialogs.toml")

    order = store.begin_dialog("Client", "Shop")
    order.send("Order", {"item": "lamp"})
    order.send("Order", {"item": "chair"})

    work = store.take("shop")
    with work.transaction() as tx:
        for message in work:
            print(message.type, message.body)
            here = tx.conversation(message.conversation)
            here.send("Confirmation", f"{message.body['item']} is on its way")
        tx.accept()

    with store.take("client") as work:
        for message in work:
            print(message.type, message.body, message.conversation == order)
