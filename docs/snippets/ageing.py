from fairlead import Agenda, load_clusters

(cluster,) = load_clusters("order.toml")
agenda = Agenda.of(cluster.tables.order)

agenda.send("patient", "not raised", 0)
agenda.send("early", "priority 3", 100, priority=3)
agenda.send("late", "priority 3", 130, priority=3)
print(agenda.waiting())
