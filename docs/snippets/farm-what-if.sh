fairlead journal --store sqlite:///farm.db --cluster farm --decisions > farm.jsonl
sed 's/weight = 200/weight = 100/' farm.toml > equal.toml
fairlead dispatch farm.jsonl --cluster equal.toml --out equal --no-report
