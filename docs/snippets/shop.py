def pack(message, tx):
    print("pack", message.body)
    tx.send("bills", f"bill for {message.body}", group=message.group)


def bill(message):
    print(message.body)


handlers = {"orders": pack, "bills": bill}
