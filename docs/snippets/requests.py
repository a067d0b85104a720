from fairlead import Agenda

MILLI = 1000  # microseconds
agenda = Agenda()
arrivals = [(24 * MILLI * i, i) for i in range(100)]
now, responses = 0, []

while len(responses) < 100:
    while arrivals and arrivals[0][0] <= now:
        at, i = arrivals.pop(0)
        agenda.arrive(f"dialog {i}", i, at)
        if i % 10 == 0:
            agenda.prioritise(f"dialog {i}", at, priority=i)
    work = agenda.take(now)
    responses += work
    now += 2000 * MILLI
    agenda.finish(work)

print(*responses[:24])
