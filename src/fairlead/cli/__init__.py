"""The command line: it parses, calls and prints."""

from __future__ import annotations

import sys


def main() -> None:
    """Run the command; exit with 0 done, 2 the user's mistake, 1 a fault of ours."""
    from fairlead.cli.app import run

    sys.exit(run(sys.argv[1:]))
