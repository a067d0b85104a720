from fairlead import Store

with Store.open("sqlite:///dialogs.db") as store:
    store.set_limits("shop", max_failures=2, poison="off")
    store.begin_dialog("Client", "Shop").send("Order", {"item": "bed"})

    for _ in range(2):
        store.take("shop").release(error="the bed is too large")
    print(store.take("shop"))

    store.switch("shop", on=True)
    with store.take("shop") as work:
        print([message.body for message in work])
