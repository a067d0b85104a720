from fairlead import Store
from fairlead.errors import ConversationError

with Store.open("sqlite:///dialogs.db") as store:
    order = store.begin_dialog("Client", "Shop")
    order.send("Order", {"item": "lamp"})

    work = store.take("shop")
    with work.transaction() as tx:
        for message in work:
            tx.conversation(message.conversation).end(error=(17, "no lamp is left"))
        tx.accept()

    print(order.state)
    try:
        order.send("Order", {"item": "chair"})
    except ConversationError as error:
        print(error)

    work = store.take("client")
    with work.transaction() as tx:
        for message in work:
            print(message.type, message.body)
            tx.conversation(message.conversation).end()
        tx.accept()
    print(order.state)
