"""The wire: AMQP 1.0 by Qpid Proton's engine, without input or output of its own.

Nothing outside this package imports proton.
"""
