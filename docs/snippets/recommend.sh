fairlead recommend jobs.csv -c crews.toml -o better --target "p99_wait < 2s" \
  --vary policy --vary "readers of each * 1..6" --cost "2 of big"
