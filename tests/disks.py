"""Disks with little room."""

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest


@contextmanager
def disk(folder: Path, size: str) -> Iterator[Path]:
    """A folder that is a disk of its own, of this size; who may not mount one skips the test."""
    folder.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(folder)]
    try:
        subprocess.run(command, check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError) as error:
        folder.rmdir()
        pytest.skip(f"not here: a small disk: {error}")
    try:
        yield folder
    finally:
        # what wrote there may not have closed it yet
        subprocess.run(["umount", "-l", str(folder)], check=True)  # noqa: S607
        folder.rmdir()
