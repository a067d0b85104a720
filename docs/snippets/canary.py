from fairlead import Balancer, Change, load_clusters

balancer = Balancer(load_clusters("canary.toml"))
names = [balancer.choose().destination for _ in range(1000)]
print([k for k, name in enumerate(names) if name == "v2"])
balancer.apply([Change("v2", "weight", 99)])  # it does well; half of everything, and no burst
names = [balancer.choose().destination for _ in range(10)]
print(*names)
