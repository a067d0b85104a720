"""Sockets of the Scalability Protocols (SP), which nanomsg and nng programs speak.

>>> from fairlead.sockets import Pull, Push
>>> with Pull() as pull, Push() as push:
...     _ = push.connect(pull.bind("tcp://127.0.0.1:0"), priority=1)
...     push.send(b"work", timeout=5)
...     pull.recv(timeout=5)
b'work'
"""

from fairlead.sockets.device import Device
from fairlead.sockets.events import SocketEvent
from fairlead.sockets.peers import EndpointState
from fairlead.sockets.pull import Pull
from fairlead.sockets.push import Push
from fairlead.sockets.rep import Rep, Request
from fairlead.sockets.req import Req

__all__ = ["Device", "EndpointState", "Pull", "Push", "Rep", "Req", "Request", "SocketEvent"]
