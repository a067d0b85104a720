"""What pages load: style, script and icon."""

from __future__ import annotations

from functools import partial
from typing import Final

from starlette.responses import Response

from fairlead.console.rendering import KINDS, static_file
from fairlead.console.visit import Route, Visit

KEPT: Final = 365 * 24 * 3600
"""Seconds: its address changes with it."""


async def _file(name: str, _: Visit) -> Response:
    file = static_file(name)
    headers = {"Cache-Control": f"public, max-age={KEPT}, immutable"}
    return Response(file.content, media_type=file.kind, headers=headers)


ROUTES: Final = tuple(Route(f"/static/{name}", partial(_file, name), role=None) for name in KINDS)
