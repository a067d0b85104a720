"""Whose message is received next: as the rule of the rings says."""

from hypothesis import given
from hypothesis import strategies as st

from fairlead.balance.rules import ready_ring
from fairlead.sockets.sources import MessageSource, Sources

N = 5
STEPS = st.lists(
    st.tuples(st.sampled_from(["put", "take", "take back"]), st.integers(0, N - 1)), max_size=60
)


@given(st.lists(st.integers(1, 16), min_size=N, max_size=N), STEPS)
def test_sources_take_their_turns_as_peers_of_a_ring_that_are_ready_while_they_have_something(
    priorities: list[int], steps: list[tuple[str, int]]
) -> None:
    sources: Sources[int] = Sources(lambda _: 1)
    each = [MessageSource[int](priority) for priority in priorities]
    ring = ready_ring.ReadyRing(priorities, [0] * N, [1000] * N)
    waiting: list[list[int]] = [[] for _ in range(N)]
    for number, (step, i) in enumerate(steps):
        if step == "put":
            sources.put(each[i], [number, -number])
            waiting[i] += [number, -number]
            ready_ring.connect(ring.state, i)
            continue
        chosen = ring.choose([*range(N)])
        found = sources.take()
        if chosen < 0:
            assert found is None
            continue
        assert found == (each[chosen], waiting[chosen].pop(0))
        if not waiting[chosen]:
            ready_ring.disconnect(ring.state, chosen)
        if step == "take back":
            sources.put_back(*found)
            waiting[chosen].insert(0, found[1])
            ready_ring.connect(ring.state, chosen)
