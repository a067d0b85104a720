"""Each measure once: what counts come to, whichever engine has counted."""
