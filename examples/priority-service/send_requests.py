"""Send a hundred requests; each tenth asks for a priority, its own number."""

import os
from datetime import datetime

from fairlead import Store

URL = os.environ.get("FAIRLEAD_STORE", "sqlite:///fairlead.db")


def send_request(store, i):
    """Send a request, and how urgent it is, in one transaction."""
    now = datetime.now().isoformat(timespec="milliseconds")
    request = f'<request time="{now}" spid="{os.getpid()}">{i}</request>'
    with store.transaction() as tx:
        conversation = tx.begin_dialog("SampleClient", "Samples/PriorityService")
        conversation.send("LongWorkloadRequest", request)
        if i % 10 == 0:
            conversation.send("SetPriority", f"<priority>{i}</priority>")


if __name__ == "__main__":
    with Store.open(URL) as store:
        for i in range(100):
            send_request(store, i)
