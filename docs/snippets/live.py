from fairlead import Balancer, Change, load_clusters

balancer = Balancer(load_clusters("pool.toml"))

decision = balancer.choose()
print(decision.destination, decision.address)

print([balancer.choose().destination for _ in range(6)])

balancer.apply(Change("gpu-1", "enabled", False))
decision = balancer.choose()
print(decision.destination)
print(decision.explain())
