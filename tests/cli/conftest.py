"""What tests of whole commands share."""

from pathlib import Path

import pytest

POOL = (
    'policy = "weighted"\n[[destination]]\nname = "a"\nreaders = 2\n[[destination]]\nname = "b"\n'
)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with messages and a cluster file, for what GIVEN names."""
    rows = "".join(f"m{k},{k},1.5\n" for k in range(3_000))
    (tmp_path / "m.csv").write_text(f"id,time,service_time\n{rows}")
    (tmp_path / "pool.toml").write_text(POOL)
    return tmp_path
