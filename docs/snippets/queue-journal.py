from fairlead import Store

with Store.open("sqlite:///failures.db") as store:
    cursor = None
    for event in store.journal(since=cursor):
        print(event.position, event.kind, event.group, event.id, event.detail or "")
        cursor = event.cursor
    print(list(store.journal(since=cursor)))
