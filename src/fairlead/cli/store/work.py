"""Work: handlers of the user's own, in threads or in processes."""

from __future__ import annotations

import signal

from fairlead.store.supervisor import Job, check, log_to_stderr, run_here, supervise
from fairlead.store.worker import listen


def work(job: Job, processes: int | None) -> int:
    """Work until a signal comes; the exit status."""
    check(job)
    log_to_stderr()
    asked = listen(signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    return run_here(job, asked) if processes is None else supervise(job, asked, processes)
