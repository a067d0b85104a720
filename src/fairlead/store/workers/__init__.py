"""Workers: handlers, the processes and threads that run them, and who starts those."""
