fairlead explain journal.jsonl --id o07 --cluster pool.toml
sed 's/weight = 4/weight = 1/' pool.toml > lighter.toml
fairlead dispatch journal.jsonl --cluster lighter.toml --out anew
fairlead diff journal.jsonl anew
