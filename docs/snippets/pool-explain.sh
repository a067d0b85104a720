fairlead explain gpu-journal.jsonl --id r04 --cluster gpus.toml
