from fairlead import Agenda

agenda = Agenda()
arrivals = [(0.024 * i, i) for i in range(100)]
now, responses = 0, []

while len(responses) < 100:
    while arrivals and arrivals[0][0] <= now:
        at, i = arrivals.pop(0)
        agenda.send(f"dialog {i}", i, at)
        if i % 10 == 0:
            agenda.prioritise(f"dialog {i}", at, priority=i)
    work = agenda.take(now)
    responses += work
    now += 2
    work.accept()

print(*responses[:24])
