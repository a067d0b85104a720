from fairlead import Balancer, Change, load_clusters

balancer = Balancer(load_clusters("pool.toml"))
print([balancer.choose().destination for _ in range(7)])
balancer.apply(Change("gpu-1", "enabled", False))
print(balancer.choose().explain())
