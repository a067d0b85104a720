from fairlead import Store

with Store.open("sqlite:///prints.db") as store:
    store.declare("prints.toml")
    for document, priority in [("menu", None), ("poster", 20), ("letter", None), ("ticket", 200)]:
        with store.transaction() as tx:
            dialog = tx.begin_dialog("Desk", "Prints")
            dialog.send("Document", document)
            if priority is not None:
                dialog.send("SetPriority", priority)
