from fairlead import Service

shop = Service("Shop")


@shop.on("Order")
def order(message, tx):
    tx.conversation(message.conversation).send("Confirmation", f"{message.body['item']}: packed")
