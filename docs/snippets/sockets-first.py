from fairlead.sockets import Pull, Push

with Pull() as pull, Push() as push:
    address = pull.bind("tcp://127.0.0.1:0")  # port 0: the system chooses one
    push.connect(address, priority=1)
    push.send(b"hello", timeout=5)
    print(pull.recv(timeout=5))
