from fairlead import Store

with Store.open("sqlite:///talk.db") as store:
    store.declare("talk.toml")
    for what in ("a clock", "a chair", "a bicycle"):
        talk = store.begin_dialog("Desk", "Workshop")
        talk.send("Repair", what)
    talk.prioritise(200)
    with store.take("workshop") as work:
        print([message.body for message in work])
