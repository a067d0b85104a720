"""What is no URL of a store, and no path of a file, is refused in one line."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from fairlead import AsyncStore, Store
from fairlead.errors import ConfigError, StoreError

NO_NAMES = ["a\0b", "\ud800"]


@pytest.mark.parametrize("name", NO_NAMES)
@pytest.mark.parametrize("kind", ["sqlite:///", "postgresql://u:secret@127.0.0.1:1/"])
def test_a_url_with_a_character_that_no_name_can_have(kind: str, name: str) -> None:
    with pytest.raises(StoreError, match="no name can have") as refused:
        Store.open(kind + name)
    assert "secret" not in str(refused.value)
    with pytest.raises(StoreError, match="no name can have"):
        asyncio.run(AsyncStore.open(kind + name))


def test_a_host_that_is_no_name() -> None:
    pytest.importorskip("psycopg")
    with pytest.raises(StoreError, match="no name server knows"):
        Store.open(f"postgresql:///x?host={'x' * 5000}")


@pytest.mark.parametrize("name", NO_NAMES)
def test_a_file_with_a_character_that_no_name_can_have(tmp_path: Path, name: str) -> None:
    with Store.open(f"sqlite:///{tmp_path}/work.db") as store:
        verbs: tuple[Any, ...] = (store.declare, store.load_clusters)
        for verb in verbs:
            with pytest.raises(ConfigError, match="cannot be looked at"):
                verb(name)
