import threading
import time

from fairlead.sockets import Rep, Req


def worker(name):
    """A worker that answers with its name."""
    rep = Rep()
    address = rep.bind("tcp://127.0.0.1:0")
    threading.Thread(target=rep.serve, args=(lambda body: name.encode(),)).start()
    return rep, address


def wait_for(req, name, state):
    """Until a worker is up, or down."""
    while {each.name: each.state for each in req.endpoints()}[name] != state:
        time.sleep(0.01)


newyork, newyork_address = worker("New York")
london, london_address = worker("London")

with Req() as req:
    req.connect(newyork_address, name="newyork", priority=1)
    req.connect(london_address, name="london", priority=2)
    wait_for(req, "newyork", "up")
    wait_for(req, "london", "up")
    print("both are up:      ", req.request(b"", timeout=5))

    newyork.close()
    print("New York is down: ", req.request(b"", timeout=5))

    again = Rep()
    again.bind(newyork_address)
    threading.Thread(target=again.serve, args=(lambda body: b"New York",)).start()
    wait_for(req, "newyork", "up")
    print("New York is back: ", req.request(b"", timeout=5))

again.close()
london.close()
