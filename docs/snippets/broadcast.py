from fairlead import Balancer, Change, load_clusters

balancer = Balancer(load_clusters("broadcast.toml"))
print(balancer.choose().copies)

balancer.apply(Change("cache-1", "state", "down"))
print(balancer.choose().copies)
