from fairlead import Balancer, Change, load_clusters

balancer = Balancer(load_clusters("sessions.toml"))


def went(*groups: str) -> str:
    return " ".join(f"{g}:{balancer.choose({'group': g}).destination}" for g in groups)


print(went("kim", "lee", "kim", "mia", "lee", "noa"))

balancer.apply(Change("b", "draining", True))
print("b drains", went("kim", "noa", "oto", "kim"))

balancer.apply(Change("b", "enabled", False))
print("b is out", went("kim", "noa", "kim", "lee"))

balancer.apply([Change("b", "enabled", True), Change("b", "draining", False)])
print("b is back", went("kim", "noa", "pia", "lee"))
