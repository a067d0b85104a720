from fairlead import Store

with Store.open("sqlite:///failures.db") as store:
    events = list(store.journal())
    for event in events[:6]:
        print(event.position, event.kind, event.group, event.id, event.detail or "")
    print(list(store.journal(since=events[-1].cursor)))
