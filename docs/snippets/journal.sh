fairlead explain journal.jsonl --id o07 --cluster pool.toml
