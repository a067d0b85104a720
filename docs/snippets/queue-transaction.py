from fairlead import Store

with Store.open("sqlite:///tour.db") as store:
    with store.transaction() as tx:
        tx.execute("CREATE TABLE parcels (id TEXT PRIMARY KEY, state TEXT NOT NULL)")
    store.send("parcels", {"id": "p-1"}, group="kim")

    work = store.take("parcels")
    with work.transaction() as tx:
        for message in work:
            tx.execute("INSERT INTO parcels VALUES (?, 'packed')", [message.body["id"]])
            tx.send("vans", {"parcel": message.body["id"]}, group="kim")
        tx.accept()

    with store.transaction() as tx:
        print(tx.execute("SELECT * FROM parcels").fetchall())
    print([message.body for message in store.take("vans")])
