from fairlead import Balancer, load_clusters

balancer = Balancer(load_clusters("sockets.toml"))

news = balancer.choose({"delivery": "all"})
print([copy.destination for copy in news.copies])
balancer.completed(news, by="R1")

for _ in range(3):
    work = balancer.choose({"mode": "weighted", "delivery": "some"})
    print(work.destination, [copy.destination for copy in work.copies])
