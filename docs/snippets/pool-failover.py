from fairlead import Change, Pool

pool = Pool.from_cluster("gpus.toml")

with pool.acquire() as gpu:
    print(gpu)
    pool.apply(Change("gpu-1", "state", "failed"))
    if gpu.lost:
        gpu.retry(timeout=5)  # in a coroutine: await gpu.aretry(timeout=5)
    print(gpu)

with pool.acquire() as gpu:
    gpu.failed()  # or let an exception leave the block

print(pool.counts().ended)
