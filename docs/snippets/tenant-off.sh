fairlead send orders "a book" --tenant acme --store sqlite:///tenants.db
fairlead send orders "a lamp" --tenant zeta --store sqlite:///tenants.db
fairlead switch orders off --tenant acme --reason "it floods us" --store sqlite:///tenants.db
fairlead take orders --store sqlite:///tenants.db
fairlead switch orders on --tenant acme --store sqlite:///tenants.db
fairlead take orders --wait 1 --store sqlite:///tenants.db
