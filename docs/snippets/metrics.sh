fairlead send orders "a book" --group dora --store sqlite:///numbers.db
fairlead metrics --store sqlite:///numbers.db | grep messages
