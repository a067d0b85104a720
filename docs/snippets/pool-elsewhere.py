from fairlead import Cluster, Pool

gpus = [{"name": "gpu-1"}, {"name": "gpu-2"}, {"name": "gpu-3"}]
pool = Pool(Cluster.of("round-robin", destination=gpus, health={"failures": 2, "cool_down": 10}))

with pool.acquire() as gpu:
    print(gpu.destination)
    gpu.retry(elsewhere=True)
    print("then", gpu.destination)
with pool.acquire(avoid=["gpu-3"]) as gpu:
    print("not gpu-3 but", gpu.destination)
    gpu.failed()

used = []
for _ in range(4):
    with pool.acquire() as gpu:
        used.append(gpu.destination)
print(used)
