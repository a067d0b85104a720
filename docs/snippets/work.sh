fairlead send orders "a book" --group dora --store sqlite:///shop.db
fairlead send orders "a lamp" --group dora --store sqlite:///shop.db
fairlead work shop:handlers --until-empty --store sqlite:///shop.db 2> worker.log
grep " queue=" worker.log | cut --delimiter " " --fields 5-9
