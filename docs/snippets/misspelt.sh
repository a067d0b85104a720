sed 's/weight = 4/weigth = 4/' pool.toml > misspelt.toml
fairlead check misspelt.toml
