from pathlib import Path
from random import Random

random, time = Random(7), 0.0
with Path("jobs.csv").open("w") as file:
    print("id,time,service_time", file=file)
    for k in range(6_000):
        time += random.expovariate(3)
        print(f"job-{k:04},{time:.3f},{random.expovariate(1):.3f}", file=file)
