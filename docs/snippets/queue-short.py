from fairlead import Store

with Store.open("sqlite:///calls.db") as store:
    for patient, what in [("kim", "blood"), ("lee", "x-ray"), ("kim", "result")]:
        store.send("ward", what, group=patient)
    store.prioritise("ward", "lee", 200)
    while work := store.take("ward"):
        with work:
            print(work.group, [message.body for message in work])
