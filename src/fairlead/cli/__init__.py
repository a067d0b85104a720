"""The command line: it parses, calls and prints."""

from __future__ import annotations

import io
import logging
import sys


def main() -> None:
    """Run the command; exit with the status that docs/reference/errors.md lists."""
    from fairlead.cli import output, stopping

    output.keep_standard_files()

    # What libraries log is for programs that ask for it; a command says what went wrong itself.
    logging.getLogger().addHandler(logging.NullHandler())
    if isinstance(sys.stdout, io.TextIOWrapper):
        # A name that the terminal's encoding does not have is no reason to end.
        sys.stdout.reconfigure(errors="backslashreplace")
    stopping.listen()
    try:
        from fairlead.cli.app import run

        status = run(sys.argv[1:])
        stopping.close()
    except stopping.Stopped as stopped:
        status = stopping.say(stopped)
    sys.exit(status)
