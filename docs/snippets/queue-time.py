from fairlead import Store

now = 0
with Store.open("sqlite:///time.db", clock=lambda: now) as store:
    store.send("mails", "welcome", id="welcome-7")
    store.send("mails", "welcome", id="welcome-7")  # once more, because nobody answered
    store.send("mails", "how was it?", delay=60)
    store.send("mails", "the shop closes soon", expires=10)

    for now in (20, 60):
        while work := store.take("mails"):
            with work:
                print(now, [message.body for message in work])
    print([(letter.body, letter.reason) for letter in store.dead("mails")])
