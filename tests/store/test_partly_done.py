"""Where a part of a group is done, what comes after it has not failed yet."""

from fairlead import Store


def failed(store: Store, done: int) -> int:
    """Take a group, and fail after so many of its messages; the attempt's number."""
    work = store.take("q")
    assert work is not None
    for _ in range(done + 1):
        next(work)
    work.release(done=done, error="went wrong")
    return work.attempt


def test_failures_are_counted_from_the_last_message_that_was_done(store: Store) -> None:
    store.set_limits("q", max_failures=2)
    store.send_many("q", [{"body": n, "group": "g"} for n in range(4)])
    assert [failed(store, 0), failed(store, 1)] == [1, 2]
    assert store.queues()[0].failures == 1
    assert [failed(store, 1), failed(store, 0)] == [2, 2]
    assert [each.body for each in store.dead("q")] == [2]
    work = store.take("q")
    assert work is not None
    assert [each.body for each in work] == [3]
