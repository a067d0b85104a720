"""What the pipeline's tests share."""

import os
from pathlib import Path

import pytest


@pytest.fixture
def path_without_java(tmp_path: Path) -> str:
    """A PATH with everything that is on this one except Java."""
    programs = tmp_path / "programs"
    programs.mkdir()
    for folder in map(Path, os.environ["PATH"].split(os.pathsep)):
        for program in folder.iterdir() if folder.is_dir() else ():
            link = programs / program.name
            if program.name != "java" and not link.is_symlink():
                link.symlink_to(program)
    return str(programs)
