export FAIRLEAD_STORE=sqlite:///tenants.db
fairlead send orders "a book" --tenant acme
fairlead send orders "a lamp" --tenant zeta
fairlead switch orders off --tenant acme --reason "it floods us"
fairlead take orders
fairlead switch orders on --tenant acme
fairlead take orders
