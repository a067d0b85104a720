import json
import sqlite3
import time

from fairlead import Store


def move(store, connection, most=1000):
    """Move the first jobs that wait, in one transaction; how many."""
    cursor = connection.cursor()
    cursor.execute("BEGIN IMMEDIATE")
    cursor.execute(
        "SELECT id, customer, payload, priority, run_at FROM jobs"
        " WHERE status = 'waiting' ORDER BY id LIMIT ?",
        [most],
    )
    jobs = cursor.fetchall()
    with store.join(connection) as tx:
        for number, customer, payload, priority, run_at in jobs:
            tx.send(
                "jobs",
                json.loads(payload),
                id=f"job-{number}",
                group=customer,
                priority=min(100 + priority, 255) if priority > 0 else None,
                delay=max(run_at - time.time(), 0),
            )
    moved = [[job[0]] for job in jobs]
    cursor.executemany("UPDATE jobs SET status = 'moved' WHERE id = ?", moved)
    connection.commit()
    return len(jobs)


store = Store.open("sqlite:///work.db", create=True)
connection = sqlite3.connect("work.db")
print("moved", move(store, connection))
while work := store.take("jobs"):
    with work:
        print([(message.id, message.body) for message in work])
print(connection.execute("SELECT id, status FROM jobs ORDER BY id").fetchall())
connection.close()
store.close()
