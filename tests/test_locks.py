"""What is installed: the same versions from each list, and no package that needs a compiler."""

import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).parent.parent
PROTON = "python-qpid-proton"


def versions(name: str) -> dict[str, set[str]]:
    """By package: its versions, for whichever Python."""
    found: dict[str, set[str]] = {}
    for package, version in re.findall(r"(?m)^([\w.-]+)==([^\s;]+)", (ROOT / name).read_text()):
        found.setdefault(package, set()).add(version)
    return found


def test_the_plain_list_needs_no_compiler() -> None:
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert PROTON not in versions("requirements.lock")
    assert extras["optional-dependencies"]["amqp"] == [f"{PROTON}==0.40.*"]


def test_each_list_has_the_versions_of_the_plain_one() -> None:
    plain = versions("requirements.lock")
    for name in ("requirements-amqp.lock", "benchmarks/requirements.lock"):
        own = versions(name)
        assert {each: own[each] for each in own.keys() & plain.keys()} == {
            each: plain[each] for each in own.keys() & plain.keys()
        }


def test_what_is_built_is_the_version_whose_calls_are_known() -> None:
    from fairlead.serve.wire.proton import VERSION

    assert versions("requirements-amqp.lock")[PROTON] == {VERSION}
