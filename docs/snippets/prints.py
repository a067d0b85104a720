from fairlead import PriorityService, Service

front = PriorityService("Prints", back="Printer")
back = Service("Printer")


@back.on("Document")
def print_document(message, tx):
    print("printing", message.body)
    tx.conversation(message.conversation).send("Printed", message.body)


services = [front, back]
