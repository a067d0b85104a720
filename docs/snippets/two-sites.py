from collections import Counter

from fairlead import Balancer, Change, load_clusters

balancer = Balancer(load_clusters("two-sites.toml"))
for lost in (None, "near-1", "near-2", "near-3"):
    if lost:
        balancer.apply(Change(lost, "state", "down"))
    names = Counter(balancer.choose().destination for _ in range(1000))
    print(f"without {lost}:" if lost else "all up:", *sorted(names.items()))
