fairlead dispatch chapter4.csv --cluster sockets.toml --out published --format csv
for name in R1 R2 archive; do echo "$name:" $(grep -h ",$name," published/decisions/*.csv | cut -d , -f 1); done
