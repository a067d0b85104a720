from fairlead import Store

with Store.open("sqlite:///tour.db") as store:
    for customer, what in [
        ("kim", "offer"),
        ("lee", "order"),
        ("kim", "question"),
        ("mia", "bill"),
    ]:
        store.send("letters", what, group=customer)

    one = store.take("letters")
    other = store.take("letters")
    print(one.group, [message.body for message in one])
    print(other.group, [message.body for message in other])

    store.send("letters", "reminder", group="kim")
    print(one.group, [message.body for message in one])
    one.accept()
    other.accept()
