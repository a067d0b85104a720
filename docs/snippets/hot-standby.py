from fairlead import Balancer, Change, load_clusters

balancer = Balancer(load_clusters("hot-standby.toml"))
print(balancer.choose().destination)
balancer.apply(Change("1-main", "state", "down"))
print(balancer.choose().destination)
balancer.apply(Change("1-main", "state", "up"))
print(balancer.choose().destination)
