from collections import Counter

from fairlead import Balancer, Change, load_clusters

balancer = Balancer(load_clusters("slow-start.toml"))
print(*(balancer.choose().destination for _ in range(5)))
balancer.apply(Change("new", "present", True, time=100))
for second in range(100, 112, 2):
    balancer.at(second)
    print(second, *sorted(Counter(balancer.choose().destination for _ in range(110)).items()))
print("next change:", balancer.next_change())
