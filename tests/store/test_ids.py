"""For how long an id is known."""

from collections.abc import Callable

import pytest

from fairlead import Store
from fairlead.errors import MessageError

DAY = 86_400


def test_an_id_that_is_known_no_more_may_be_that_of_another_message(
    url: str, opened: Callable[..., Store]
) -> None:
    now = 0
    store = opened(url, clock=lambda: now)
    store.send("q", "first", id="x")
    now = 7 * DAY
    with pytest.raises(MessageError, match="found 'x', which another message had before"):
        store.send("q", "other", id="x")
    now += 1
    store.send("q", "other", id="x")
    now = 14 * DAY
    store.send("q", "other", id="x")
    work = store.take("q")
    assert work is not None
    assert [each.body for each in work] == ["first"]
    work.accept()
    assert store.queues()[0].messages == 1
