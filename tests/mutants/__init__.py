"""How much the tests catch: draws small changes of the code, and runs the tests that cover each.

`python -m tests.mutants --count 300 --seed 1` (or `make mutants`) first runs the tests once under
coverage, to learn which test files run which lines (`covering`); that is kept until told anew.
Then it draws changes by the seed (`python_changes`, by Cosmic Ray's operators and a few of our own;
`sql_changes`), tries each in a copy of the tree (`trial`), and prints those that no test catches.
"""
