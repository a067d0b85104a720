"""Two plain models, and one driver that plays a history through them and through every door.

`deciding` says who gets a message, `store` what a store does with it. Each is lists and loops, and
imports nothing of what is tested. A *door* is one way in for a user (`Balancer`, `route`, Spark,
SQL, AMQP, …); `driver` plays one history through the model and through each door that has the
world's features, and compares what each answers and shows. Where a door differs on purpose, it is
a line in `differences`.
"""
