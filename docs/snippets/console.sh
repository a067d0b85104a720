echo "a secret" | fairlead users add users.toml dora --role operator
echo "another" | fairlead users add users.toml victor
fairlead users role users.toml victor viewer
fairlead users list users.toml
