"""Whether a body is what its message type says."""

from __future__ import annotations

import json
import math
from typing import Any, Final
from xml.parsers import expat

import msgspec

from fairlead.store.queues.bodies import TEXT
from fairlead.text import visible

DEEPEST: Final = 1_000
"""Elements inside each other, so that a reader's own parser, which may be recursive, is safe."""
LONGEST_NAMESPACE: Final = 500
"""Characters: a parser writes the namespace out at each name that is of it."""
LONGEST: Final = 300
LONGEST_PLACE: Final = 120
LONGEST_RULE: Final = 100


def fault(validation: str, schema: dict[str, Any] | None, format: int, body: bytes) -> str | None:  # noqa: A002
    """Why a body is refused, in one line; None: it is not.

    `format`, `body`: as `bodies.encoded` gives them. `schema`: as it was declared, so checked.

    `empty`: no bytes. `xml`: one well-formed document, its namespaces, too, with elements at most
    1,000 deep, namespaces of at most 500 characters, and no DOCTYPE: so there are no entities but
    XML's own five, and nothing is fetched.
    Bytes are read in the encoding that they declare; a text is a text, whatever it declares.
    `json`: data, or a text or bytes in UTF-8, as RFC 8259 has it: no NaN, no byte order mark; of a
    key that is there twice the last one counts, as in Python; numbers that Python cannot hold and
    nesting that it cannot follow are refused. With a schema the body has to satisfy it, too: how
    long that takes is up to the schema.
    """
    reason = None
    if validation == "empty" and body:
        reason = f"found {len(body)} bytes, allowed: an empty body"
    elif validation == "xml":
        reason = _not_xml(format, body)
    elif validation == "json":
        reason = _not_json(schema, body)
    return None if reason is None else visible(reason, LONGEST)


class _Refused(Exception):  # noqa: N818 - it says why, and is caught here
    """What a parser's callback refuses."""


def _not_xml(format_: int, body: bytes) -> str | None:
    # A text was encoded here, so what it declares is not how it is encoded.
    encoding = "utf-8" if format_ == TEXT else None
    plain, with_namespaces = expat.ParserCreate(encoding), expat.ParserCreate(encoding, " ")
    _Limits(plain)
    try:
        for parser in (plain, with_namespaces):
            parser.Parse(body, True)
    except _Refused as refused:
        return f"found {refused}"
    except (expat.ExpatError, LookupError, ValueError) as error:  # the others: of an encoding
        return f"found no well-formed XML ({error}), allowed: well-formed XML"
    return None


class _Limits:
    """What is refused while no namespaces are followed, so before any is written out."""

    def __init__(self, parser: expat.XMLParserType) -> None:
        self.depth = 0
        parser.StartElementHandler, parser.EndElementHandler = self.start, self.end
        parser.StartDoctypeDeclHandler = self.doctype

    def doctype(self, *_: object) -> None:
        raise _Refused("a DOCTYPE, allowed: XML without one")  # expat looks at nothing after it

    def start(self, name: str, attributes: dict[str, str]) -> None:
        self.depth += 1
        if self.depth > DEEPEST:
            raise _Refused(f"elements more than {DEEPEST:,} deep, allowed: fewer")
        for key, value in attributes.items():
            if key.startswith("xmlns") and len(value) > LONGEST_NAMESPACE:
                raise _Refused(
                    f"a namespace of {len(value)} characters, allowed: at most {LONGEST_NAMESPACE}"
                )

    def end(self, name: str) -> None:
        self.depth -= 1


def _not_json(schema: dict[str, Any] | None, body: bytes) -> str | None:
    try:
        plain = json.loads(body.decode(), parse_constant=_constant, parse_float=_float)
    except UnicodeDecodeError as error:
        return f"found no JSON (byte {error.start} is not UTF-8), allowed: JSON in UTF-8"
    except json.JSONDecodeError as error:
        where = f"line {error.lineno}, column {error.colno}"
        return f"found no JSON ({error.msg}: {where}), allowed: JSON"
    except _Refused as refused:
        return f"found {refused}"
    except ValueError:
        return "found JSON with an integer of thousands of digits, allowed: shorter ones"
    except RecursionError:
        return "found JSON that is too deep, allowed: fewer lists and objects in each other"
    return None if schema is None else _against(schema, plain)


def _constant(found: str) -> object:
    raise _Refused(f"{found}, allowed: numbers that JSON has")


def _float(found: str) -> float:
    value = float(found)
    if math.isinf(value):
        raise _Refused(f"the number {visible(found, 20)}, allowed: numbers below 10^308")
    return value


def _against(schema: dict[str, Any], plain: object) -> str | None:
    from fairlead.config.schemas import validator

    try:
        error = next(validator(msgspec.json.encode(schema)).iter_errors(plain), None)
    except RecursionError:
        return "found JSON that is too deep for its schema, allowed: fewer lists and objects"
    except OverflowError:
        return "found JSON with a number that is too large for its schema, allowed: a smaller one"
    if error is None:
        return None
    rule = "false"
    if error.validator is not None:
        rule = f"{error.validator}: {json.dumps(error.validator_value)}"
    place = visible(error.json_path, LONGEST_PLACE)
    return f"found JSON that its schema refuses at {place} ({visible(rule, LONGEST_RULE)})"
