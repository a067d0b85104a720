"""The schema goes from one version to the next, or stays as it was; on both databases."""

import re
from collections.abc import Callable

import pytest

from fairlead import Store
from fairlead.errors import StoreError
from fairlead.store.database import schema
from fairlead.store.database.statements import functions, migrations
from tests.store.conftest import LATER

NEWEST = len(migrations("sqlite"))


def test_the_databases_have_the_same_version() -> None:
    assert len(migrations("postgresql")) == NEWEST


def test_nothing_is_made_by_a_migration_and_again_with_the_functions() -> None:
    made = re.compile(r"CREATE (?:OR REPLACE )?(?:FUNCTION|VIEW) (fairlead\.\w+)")
    first = {*made.findall("".join(migrations("postgresql")))}
    assert len(first) > 5
    assert not first & {*made.findall(functions("postgresql"))}


def test_a_migration_that_is_new_is_run_once_and_what_is_there_stays(
    url: str, opened: Callable[..., Store], request: pytest.FixtureRequest
) -> None:
    with Store.open(url) as before:
        before.send("work", "sent before")
    request.getfixturevalue("later")
    with pytest.raises(
        StoreError, match=rf"version {NEWEST} of the schema, allowed: {NEWEST + 1};"
    ):
        Store.open(url)
    store = opened(url, upgrade=True)
    assert store.upgraded == (NEWEST, NEWEST + 1)
    assert opened(url, upgrade=True).upgraded == (NEWEST + 1, NEWEST + 1)
    work = store.take("work")
    assert work is not None
    assert [message.body for message in work] == ["sent before"]


def test_an_older_program_refuses_a_newer_schema(url: str, opened: Callable[..., Store]) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(schema, "migrations", lambda kind: (*migrations(kind), LATER[kind]))
        opened(url, upgrade=True)
    every: list[dict[str, bool]] = [{}, {"upgrade": True}, {"create": True}]
    for how in every:
        with pytest.raises(StoreError, match="a newer Fairlead was here"):
            Store.open(url, **how)


def test_a_migration_that_fails_changes_nothing(
    url: str, dialect: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken = LATER[dialect] + "DROP TABLE there_is_no_such_table;"
    monkeypatch.setattr(schema, "migrations", lambda kind: (*migrations(kind), broken))
    with pytest.raises(Exception, match="there_is_no_such_table"):
        Store.open(url, upgrade=True)
    monkeypatch.undo()
    with Store.open(url) as store:  # of the version before, without the newer one's column
        store.send("work", 1)
        assert [queue.messages for queue in store.queues()] == [1]
