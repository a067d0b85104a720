"""Build the API reference from the docstrings: python docs/reference.py FOLDER."""

import sys
from pathlib import Path
from typing import get_type_hints

import pdoc
from pdoc.render import configure

import fairlead
import fairlead.replay

PUBLIC = (
    "fairlead",
    "!fairlead.",  # of the package only what it exports, and what follows
    "fairlead.errors",
    "fairlead.replay",
    "!fairlead.replay.",
    "fairlead.pipeline.intake.read",
    "fairlead.pipeline.questions.diff",
    "fairlead.pipeline.questions.explain",
    "fairlead.results.diff",
    "fairlead.sockets",
    "!fairlead.sockets.",  # only what it exports, and what follows
    "fairlead.sockets.tls",
)


def build(folder: Path) -> None:
    """Write a page for each public module, and an index."""
    # What the package loads when it is first used must be there to be seen.
    exported = {name: getattr(fairlead, name) for name in fairlead.__all__}
    vars(fairlead).update(exported)
    vars(fairlead.replay)["replay"] = fairlead.replay.replay
    for each in exported.values():
        if isinstance(each, type) and issubclass(each, tuple):
            # A named tuple's own __new__ does not know the module that its types stand in.
            each.__new__.__annotations__.update(get_type_hints(each))
    configure(docformat="google", show_source=False, footer_text="Fairlead")
    pdoc.pdoc(*PUBLIC, output_directory=folder)


if __name__ == "__main__":
    build(Path(sys.argv[1]))
