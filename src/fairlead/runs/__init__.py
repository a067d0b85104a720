"""What all engines know of runs: kinds of files, names of columns, and folders of results."""
