"""Be the workers and a client of two sites, while the workers of New York go and come back."""

import threading
import tomllib
from collections import Counter
from contextlib import ExitStack
from pathlib import Path

from fairlead.sockets import Rep, Req

DEVICES = ("newyork", "london")


def addresses():
    """Where everybody is, as the files of both sites say."""
    tables = [tomllib.loads(Path(f"{site}.toml").read_text()) for site in DEVICES]
    return {each["name"]: each["address"] for table in tables for each in table["destination"]}


def worker(name, address):
    """A worker that answers each request with its name."""
    rep = Rep()
    rep.bind(address)
    threading.Thread(target=rep.serve, args=(lambda _: name.encode(),)).start()
    return rep


def workers_of(site, known):
    """All workers of a site, to be closed together."""
    with ExitStack() as stack:
        for name, address in known.items():
            if name.startswith(site):
                stack.enter_context(worker(name, address))
        return stack.pop_all()


def show(where, req, site):
    """Ask until both workers of a site answer in turn; then print who answers six requests."""
    latest = ["", ""]
    while set(latest) != {f"{site} 1", f"{site} 2"}:
        latest = [latest[1], ask(req)]
    answers = Counter(ask(req) for _ in range(6))
    print(
        f"  asked in {where}:", ", ".join(f"{name} ({answers[name]})" for name in sorted(answers))
    )


def ask(req):
    """Who answers a request."""
    return req.request(b"who is there?", timeout=30).decode()


if __name__ == "__main__":
    known = addresses()
    with Req(resend=1) as newyork, Req(resend=1) as london, workers_of("London", known):
        newyork.connect(known["newyork"])
        london.connect(known["london"])
        with workers_of("New York", known):
            print("Both sites are up")
            show("New York", newyork, "New York")
            show("London", london, "London")
        print("New York's workers are down")
        show("New York", newyork, "London")
        with workers_of("New York", known):
            print("New York's workers are back")
            show("New York", newyork, "New York")
