from fairlead import Store

now = 0
with Store.open("sqlite:///dialog-time.db", clock=lambda: now) as store:
    store.declare("dialogs.toml")
    order = store.begin_dialog("Client", "Shop", lifetime=600)
    order.send("Order", {"item": "lamp"})
    order.timer(30)

    for now in (30, 600):
        with store.take("client") as work:
            for message in work:
                print(now, message.type, message.body)
    with store.take("shop") as work:
        print(now, [message.type for message in work])
