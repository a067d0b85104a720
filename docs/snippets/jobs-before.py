import sqlite3

connection = sqlite3.connect("work.db")
connection.executescript("""
    CREATE TABLE jobs (
        id INTEGER PRIMARY KEY,
        customer TEXT,
        payload TEXT NOT NULL,
        priority INTEGER NOT NULL DEFAULT 0,
        run_at REAL NOT NULL DEFAULT 0,  -- seconds since 1970
        status TEXT NOT NULL DEFAULT 'waiting',
        attempts INTEGER NOT NULL DEFAULT 0
    );
    INSERT INTO jobs (customer, payload, priority, status) VALUES
        ('kim', '{"pack": "o-1"}', 0, 'done'),
        ('kim', '{"pack": "o-2"}', 0, 'running'),
        ('kim', '{"pack": "o-3"}', 0, 'waiting'),
        (NULL,  '{"report": 7}',   0, 'waiting'),
        ('mia', '{"pack": "o-4"}', 9, 'waiting');
""")
connection.close()
