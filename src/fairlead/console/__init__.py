"""The console: an operator sees what waits and why, and changes it, in a browser.

It has no rule of its own: it calls the store's verbs, and each change is the verb that the command
line has, done by whoever is logged in (`visit.act`).

A page is a module in `pages/`, listed in `pages/__init__.py`, with a template in `templates/`. It
has `ROUTES`: paths, what answers there (a coroutine function from a `Visit` to a response), and
who may. `visit.look` asks the store, off the event loop, within a time; `visit.act` does the same
for what changes something, and `counted.py` counts what takes long. `visit.page` renders a template
that extends `frame.html`. What a page is about stands in the query (`/queue?name=…`), as names have
all characters. A `Stream` gives the numbers of a page that stays open: each is put into the
elements whose `data-n` has its key, so a page stays where it was scrolled. A `MENU` puts the page
into the navigation. What takes longer than a page may take is a job (`jobs.py`).

Other people's text is shown by `{{ text|visible }}`: never as markup, always in one line.
"""
