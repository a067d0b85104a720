"""The front end and the back end of "Processing conversation with priority order", by hand.

A client sends its requests, and how urgent they are, to the front end. That hands each request on
to the back end, which works on it, and raises what waits there. So a SetPriority never waits behind
the work that it raises.
"""

import os
import threading
import time
from contextlib import suppress
from datetime import datetime
from xml.etree import ElementTree as ET

from fairlead import Service
from fairlead.errors import ConversationError

WORKLOAD = float(os.environ.get("WORKLOAD_SECONDS", "2"))
DEFAULT_PRIORITY = 100
BAD_PRIORITY = 1

front_end = Service("Samples/PriorityService")
back_end = Service("BackEndService")

# -------- The front end: what one message does, in the transaction of its conversation group


@front_end.on("EndDialog")
def pass_end_on(message, tx):
    """End the conversation, and the one on the other side of the binding."""
    conversation = tx.conversation(message.conversation)
    peer = conversation.bound()
    conversation.end()
    if peer:
        peer.end()


@front_end.on("Error")
def pass_error_on(message, tx):
    """End the conversation, and the one on the other side of the binding with the same error."""
    conversation = tx.conversation(message.conversation)
    peer = conversation.bound()
    conversation.end()
    if peer:
        peer.end(error=(abs(message.body["code"]), message.body["description"]))


@front_end.on("LongWorkloadRequest")
def forward_request(message, tx):
    """Forward the workload request to the back end."""
    conversation = tx.conversation(message.conversation)
    send(conversation.bound() or begin_back_end(tx, conversation), message.type, message.body)


@front_end.on("SetPriority")
def raise_request(message, tx):
    """Raise the group in which the back end finds the work of this conversation."""
    conversation = tx.conversation(message.conversation)
    peer = conversation.bound()
    if peer is None:
        return
    text = ET.fromstring(message.body).text or str(DEFAULT_PRIORITY)
    if text.isdecimal() and int(text) <= 255:
        peer.prioritise(int(text))
    else:
        error = BAD_PRIORITY, f"priority: found {text!r}, allowed: an integer from 0 to 255"
        peer.end(error=error)
        conversation.end(error=error)


@front_end.on("Response")
def forward_response(message, tx):
    """Forward the workload response to the client."""
    peer = tx.conversation(message.conversation).bound()
    if peer:
        send(peer, message.type, message.body)


def begin_back_end(tx, conversation):
    """The conversation with the back end, bound to the one with the client."""
    peer = tx.begin_dialog(
        "Samples/PriorityService", "BackEndService", "RequestInternal", related=conversation
    )
    conversation.bind(peer)
    return peer


def send(conversation, message_type, body):
    """Send a message; where the other side has ended, nobody wants it any more."""
    with suppress(ConversationError):
        conversation.send(message_type, body)


# -------- The back end: the work is done before the transaction, in which the result is sent. An
# EndDialog or an Error ends the conversation: a service does that by itself.


@back_end.on("LongWorkloadRequest")
def work(message):
    """Simulate a really lengthy workload."""
    time.sleep(WORKLOAD)
    result = ET.Element("result", spid=str(threading.get_native_id()), time=now())
    result.append(ET.fromstring(message.body))

    def respond(tx):
        response = ET.tostring(result, encoding="unicode")
        tx.conversation(message.conversation).send("Response", response)

    return respond


def now():
    """The time, as the document prints it."""
    return datetime.now().isoformat(timespec="milliseconds")
