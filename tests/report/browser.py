"""A headless Chromium, driven by the DevTools protocol over two pipes."""

import json
import os
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

PROGRAMS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
PATIENCE = 60.0
"""Seconds."""
LEFT = "Inspected target navigated or closed"
"""What the browser answers where its page goes away while it is asked."""


def program() -> str | None:
    """The browser on this machine, if there is one."""
    return next((found for name in PROGRAMS if (found := shutil.which(name))), None)


class Tab:
    """One page of the browser, and what it has said and asked for."""

    def __init__(self, to: int, from_: int) -> None:
        self.to, self.from_ = to, from_
        self.calls = 0
        self.unread = b""
        self.session: str | None = None
        self.events: list[dict[str, Any]] = []
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        attached = self.call("Target.attachToTarget", targetId=target, flatten=True)
        self.session = attached["sessionId"]
        for domain in ("Page", "Runtime", "Network", "Log"):
            self.call(f"{domain}.enable")

    def call(self, method: str, **given: object) -> dict[str, Any]:
        """Ask the browser for something, and wait for its answer."""
        self.calls += 1
        message: dict[str, Any] = {"id": self.calls, "method": method, "params": given}
        if self.session:
            message["sessionId"] = self.session
        os.write(self.to, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._next()
            if answer.get("id") == self.calls:
                assert "error" not in answer, answer
                return answer["result"]
            self.events.append(answer)

    def _next(self) -> dict[str, Any]:
        while b"\0" not in self.unread:
            more = os.read(self.from_, 1 << 16)
            assert more, "the browser has gone"
            self.unread += more
        first, self.unread = self.unread.split(b"\0", 1)
        return json.loads(first)

    def run(self, script: str) -> Any:
        """The value of an expression (or what it promises) in the page."""
        done = self.call(
            "Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True
        )
        assert "exceptionDetails" not in done, done
        return done["result"].get("value")

    def holds(self, condition: str) -> bool:
        """Whether an expression holds in the page; not while that is about to be another."""
        try:
            return bool(self.run(condition))
        except AssertionError as error:
            if LEFT in str(error):
                return False
            raise

    def screen(self, width: int, *, dark: bool = False) -> None:
        """Have a screen of this width from now on."""
        phone = width < 600
        self.call(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=844,
            deviceScaleFactor=1,
            mobile=phone,
        )
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.call("Emulation.setEmulatedMedia", features=[scheme])

    def open(self, page: Path, width: int, *, dark: bool = False) -> None:
        """Show a page on a screen of this width, and wait until its charts are drawn."""
        self.events.clear()
        self.screen(width, dark=dark)
        self.call("Page.navigate", url=page.as_uri())
        charts = "document.documentElement?.dataset.charts === 'done'"
        drawn = f"location.href === '{page.as_uri()}' && {charts}"
        until = time.monotonic() + PATIENCE
        while not self.holds(drawn):
            assert time.monotonic() < until, "the charts were not drawn"
            time.sleep(0.05)

    def said(self) -> list[str]:
        """Errors and warnings, of the page's programs and of the browser about the page."""
        found = []
        for event in self.events:
            what = event.get("params", {})
            if event["method"] == "Runtime.exceptionThrown":
                found.append(str(what["exceptionDetails"]))
            if event["method"] == "Log.entryAdded":
                found.append(what["entry"]["text"])
            if event["method"] == "Runtime.consoleAPICalled" and what["type"] != "debug":
                found.append(str(what["args"]))
        return found

    def requests(self) -> list[str]:
        """What was asked for, the page itself among it."""
        return [
            event["params"]["request"]["url"]
            for event in self.events
            if event["method"] == "Network.requestWillBeSent"
        ]


@contextmanager
def browser(path: str, profile: Path) -> Iterator[Tab]:
    """A browser with one empty page."""
    its_in, our_out = os.pipe()
    our_in, its_out = os.pipe()
    given = [
        path,
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        "--disable-dev-shm-usage",
        "--remote-debugging-pipe",
        f"--user-data-dir={profile}",
    ]
    # The browser reads from 3 and writes to 4.
    with subprocess.Popen(
        ["bash", "-c", f'exec "$0" "$@" 3<&{its_in} 4>&{its_out}', *given],  # noqa: S607
        pass_fds=(its_in, its_out),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    ) as running:
        os.close(its_in)
        os.close(its_out)
        try:
            yield Tab(our_out, our_in)
        finally:
            running.terminate()
            running.wait(PATIENCE)
            os.close(our_out)
            os.close(our_in)
