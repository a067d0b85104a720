fairlead work prints:front --until-empty --store sqlite:///prints.db 2> prints.log
fairlead work prints:back --until-empty --store sqlite:///prints.db 2> prints.log
