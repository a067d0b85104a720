from fairlead import Balancer, Change, load_clusters

users = ["alice", "bob", "carol", "dave", "erin", "frank", "grace", "heidi", "ivan", "judy"]
balancer = Balancer(load_clusters("rendezvous.toml"))


def places():
    return {user: balancer.choose({"group": user}).destination for user in users}


before = places()
balancer.apply(Change("cache-b", "state", "down"))
after = places()
for user in users:
    moved = "" if after[user] == before[user] else f" -> {after[user]}"
    print(user, before[user] + moved)

balancer.apply(Change("cache-b", "state", "up"))
print(places() == before)
