from fairlead import Agenda

agenda = Agenda()

for now, (customer, letter) in enumerate(
    [("kim", "offer"), ("lee", "order"), ("kim", "question"), ("mia", "order"), ("noa", "bill")]
):
    agenda.send(customer, letter, now)

agenda.prioritise("mia", now=5, priority=200)
agenda.prioritise("noa", now=6, priority=200)
print(agenda.waiting())

while (work := agenda.take(now=7)) is not None:
    for letter in work:
        print(work.group, letter)
    work.accept()
