from fairlead import Store
from fairlead.errors import MessageError

with Store.open("sqlite:///dialogs.db") as store:
    order = store.begin_dialog("Client", "Shop")
    try:
        order.send("Confirmation", "I confirm this myself")
    except MessageError as error:
        print(error)

    order.send("Order", "one lamp, please")
    print(order.state)
    print(next(order.take()).body)
