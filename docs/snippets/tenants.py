from fairlead import Agenda

agenda = Agenda(weights={"gold": 2})

for k in range(6):
    agenda.send(f"g{k}", f"g{k}", 0, tenant="gold", cost=10)
for k in range(3):
    agenda.send(f"s{k}", f"s{k}", 1, tenant="small", cost=5)
    agenda.send(f"t{k}", f"t{k}", 1, tenant="third", cost=10)
agenda.prioritise("t2", now=2)

order = []
while (work := agenda.take(now=3)) is not None:
    order += work
    work.accept()
print(*order)
