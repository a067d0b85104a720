from fairlead import Balancer, Change, Cluster

pool = Cluster.of("fewest-pending", name="pool", destination=[{"name": "a"}, {"name": "b"}])
rows = []
balancer = Balancer(pool, journal=rows.append)
first = balancer.choose({"id": "o1"})
balancer.choose({"id": "o2"})
balancer.completed(first)
balancer.apply(Change("b", "state", "down", time=60))
balancer.choose({"id": "o3"})
for row in rows:
    print(row.position, row.outcome, row.id or "-", row.destination or "-", row.version)
