fairlead dispatch apache_access.log --cluster apache.toml --out apache \
  --number-rows --drop value \
  --column 'time=try_to_timestamp(regexp_extract(value, r"\[(.+?)\]", 1), "dd/MMM/yyyy:HH:mm:ss Z")' \
  --column 'client=regexp_extract(value, r"^(\S+)", 1)' \
  --column 'bytes=regexp_extract(value, r" \d{3} (\d+) ", 1)'
