from fairlead import Balancer, Cluster

gpus = [{"name": "h100", "weight": 4}, {"name": "a100", "weight": 2}, {"name": "t4"}]
balancer = Balancer(Cluster.of("fewest-pending", destination=gpus))

decisions = [balancer.choose() for _ in range(8)]
print(*(decision.destination for decision in decisions))

balancer.completed(decisions[0])
print(balancer.choose().explain())
