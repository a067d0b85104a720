from fairlead import Store

with Store.open("sqlite:///served.db") as store:
    store.declare("dialogs.toml")
    for item in ("lamp", "chair"):
        store.begin_dialog("Client", "Shop").send("Order", {"item": item})
