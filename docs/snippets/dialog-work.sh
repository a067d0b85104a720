fairlead work dialog_shop:shop --until-empty --store sqlite:///served.db 2> served.log
grep " queue=" served.log | cut --delimiter " " --fields 5-9
fairlead take client --store sqlite:///served.db
