from collections import Counter

from fairlead import Balancer, Change, Cluster

balancer = Balancer(Cluster.of("weighted", destination=[{"name": n} for n in "abc"]))
for what in (True, False, True):
    balancer.apply(Change("b", "enabled", what))
    print(what, *sorted(Counter(balancer.choose().destination for _ in range(90)).items()))
