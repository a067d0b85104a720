from fairlead import Balancer, Change, Cluster

balancer = Balancer(
    Cluster.of(
        "nanomsg",
        destination=[
            {"name": "A", "priority": 1},
            {"name": "B", "priority": 1},
            {"name": "C", "priority": 1},
            {"name": "L", "priority": 2},
        ],
    )
)


def sends(n: int) -> str:
    return "".join(balancer.choose().destination or "-" for _ in range(n))


def set_state(names: str, state: str) -> None:
    balancer.apply([Change(name, "state", state) for name in names])


print("all there:  ", sends(10))
set_state("B", "down")
print("B closed:   ", sends(5))
set_state("B", "up")
print("B back:     ", sends(7))
set_state("ABC", "down")
print("all closed: ", sends(3))
set_state("C", "up")
print("C back:     ", sends(3))
set_state("A", "up")
print("A back:     ", sends(5))
set_state("ACL", "down")
print("none there: ", sends(2))
