"""What a server does with what it hears, without input or output, without a clock, without SQL.

Events of the wire, results of the store and the time come in; calls of the store go out, and
answers go to the wire's connections. Every rule of order and of choice is the store's.
"""
