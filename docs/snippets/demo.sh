fairlead demo
