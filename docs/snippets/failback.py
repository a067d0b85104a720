from fairlead import Balancer, Change, load_clusters

balancer = Balancer(load_clusters("failback.toml"))
happens = {5: "down", 10: "up", 20: "failed", 22: "up"}
for second in (0, 5, 10, 20, 22, 40, 51, 52):
    if second in happens:
        balancer.apply(Change("1-main", "state", happens[second], time=second))
    balancer.at(second)
    print(second, happens.get(second, ""), "->", balancer.choose().destination)
