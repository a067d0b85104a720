from fairlead import Store


def charge(amount):
    raise ConnectionError(f"no answer from the bank for {amount}")


now = 0
with Store.open("sqlite:///failures.db", clock=lambda: now) as store:
    store.set_limits("payments", max_failures=3)
    store.send("payments", "20 EUR", group="kim", id="o-1")
    store.send("payments", "30 EUR", group="kim", id="o-2")

    for now in range(20):
        work = store.take("payments")
        if work is None:
            continue
        order = next(work)
        try:
            charge(order.body)
            work.accept()
        except ConnectionError as error:
            print(f"{now} s, attempt {work.attempt}: {error}")
            work.release(delay=2**work.attempt, error=str(error))

    for letter in store.dead("payments"):
        print(letter.id, letter.group, letter.attempt, letter.reason)

    print(store.requeue("payments", ["o-2"]))
    print([message.body for message in store.take("payments")])
