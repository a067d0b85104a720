"""An upgrade of the schema while others work: it does not make them wait behind it."""

from collections.abc import Callable

import psycopg
import pytest

from fairlead import Store
from fairlead.errors import StoreError
from fairlead.store.database.statements import migrations
from tests.stores import fresh_url, made_url

VERSION = len(migrations("postgresql"))


@pytest.fixture
def url() -> str:
    return made_url("postgresql")


def columns(url: str) -> list[str]:
    asked = "SELECT attname FROM pg_attribute WHERE attrelid = 'fairlead.queues'::regclass"
    with psycopg.connect(url) as connection:
        return [name for (name,) in connection.execute(asked).fetchall()]


@pytest.mark.usefixtures("later")
def test_an_upgrade_gives_up_where_a_transaction_is_in_its_way(
    url: str, opened: Callable[..., Store]
) -> None:
    with psycopg.connect(url, application_name="long report") as other:
        other.execute("SELECT * FROM fairlead.queues").fetchall()
        with pytest.raises(StoreError) as refused:
            Store.open(url, create=True, lock_timeout=0.1)
        said = str(refused.value)
        assert f"locked by process {other.info.backend_pid} of the server" in said
        assert "'long report', idle in transaction" in said
        assert "nothing was changed" in said
        assert "\n" not in said
        assert "later" not in columns(url)
    with opened(url, create=True, lock_timeout=0.1) as store:
        assert store.upgraded == (VERSION, VERSION + 1)
        store.send("q", 1)
    assert "later" in columns(url)


def test_making_the_schema_gives_up_where_somebody_else_is_making_it() -> None:
    url = fresh_url("postgresql")
    with psycopg.connect(url) as other:
        other.execute("CREATE SCHEMA fairlead")
        with pytest.raises(StoreError, match="nothing was changed"):
            Store.open(url, create=True, lock_timeout=0.1)
        other.rollback()
    Store.open(url, create=True, lock_timeout=0.1).close()


def test_readers_and_senders_in_the_middle_of_their_work_hold_up_no_upgrade_of_functions(
    url: str, opened: Callable[..., Store]
) -> None:
    store = opened(url)
    store.send("q", 1)
    work = store.take("q")
    assert work is not None
    with work.transaction() as tx:
        tx.send("q", 2)
        assert opened(url, create=True, lock_timeout=0.1).upgraded == (VERSION, VERSION)
        next(work)
        tx.accept()
    assert [each.messages for each in store.queues()] == [1]
