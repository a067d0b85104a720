"""Files that would take all memory or time are refused before they are held."""

import os
from pathlib import Path

import pytest

from fairlead.config.toml import LARGEST, parsed
from fairlead.errors import ConfigError

DEEP = "found tables or lists more than 32 deep, allowed: fewer"


@pytest.mark.parametrize(
    "text",
    [
        "a" + ".a" * 20_000 + " = 1\n",
        "[" + " . ".join("a" * 20_000) + "]\n",
        "x = {" + '"a"' + ".'a'" * 20_000 + " = 1}\n",
    ],
    ids=["key", "header", "in a table"],
)
def test_a_key_of_many_parts_is_refused_before_it_is_parsed(tmp_path: Path, text: str) -> None:
    file = tmp_path / "dots.toml"
    file.write_text(text)
    with pytest.raises(ConfigError, match=DEEP) as refused:
        parsed(file)
    assert refused.value.__context__ is None, "by itself, and not after the parser"


@pytest.mark.parametrize("text", ["x = '" + "1." * 150 + "'", "# " + "." * 9_000, "x = [1.5, 1.5]"])
def test_dots_elsewhere_are_none_of_keys(tmp_path: Path, text: str) -> None:
    file = tmp_path / "dots.toml"
    file.write_text(text)
    parsed(file)


def test_a_file_that_is_too_large_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "large.toml"
    with file.open("wb") as large:
        large.truncate(LARGEST + 1)
    with pytest.raises(ConfigError, match="found more than 16 MiB, allowed: up to 16"):
        parsed(file)


def test_pipes_and_devices_are_no_files(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe.toml"
    os.mkfifo(pipe)
    for each in (pipe, Path("/dev/zero")):
        with pytest.raises(ConfigError, match="found a pipe or a device, allowed: a file"):
            parsed(each)


def test_a_pipe_that_a_shell_gives_is_read() -> None:
    read, write = os.pipe()
    os.write(write, b"x = 1")
    os.close(write)
    try:
        assert parsed(f"/dev/fd/{read}") == ("x = 1", {"x": 1})
    finally:
        os.close(read)
