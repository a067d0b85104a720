fairlead diff farm.jsonl equal
