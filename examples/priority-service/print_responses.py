"""Print the responses as they come back, until none has come for ten seconds."""

import os

from fairlead import Store

URL = os.environ.get("FAIRLEAD_STORE", "sqlite:///fairlead.db")
WAIT = 10


def responses(store, wait=WAIT):
    """The responses; the conversation of each is ended when it is read."""
    while work := store.take("SampleClient", wait):
        bodies = []
        with work.transaction() as tx:
            for message in work:
                tx.conversation(message.conversation).end()
                bodies.append(message.body)
            tx.accept()
        yield from bodies


if __name__ == "__main__":
    with Store.open(URL) as store:
        for response in responses(store):
            print(response, flush=True)
