from fairlead import Store

with Store.open("sqlite:///farm.db") as store:
    for picture in ("p-2", "p-3", "p-4"):
        found = store.publish("farm", {"render": picture}, group=picture, id=picture)
        print(picture, found.destination, found.messages)

    while work := store.take("DEV1"):
        with work:
            print([message.body for message in work])
