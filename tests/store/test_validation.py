"""Bodies that a message type refuses: each by one line, and nothing is fetched, run or blown up."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from fairlead.store.dialogs.validation import fault
from fairlead.store.queues.bodies import BYTES, JSON, TEXT, encoded

LAUGHS = "".join(f'<!ENTITY l{n} "{f"&l{n - 1};" * 10}">' for n in range(1, 10))
CHAIN = "".join(f"<!ENTITY e{n} '&e{n - 1};'>" for n in range(1, 200_000))
"""Expat follows it recursively, up to the end of the stack."""
DOCTYPE = "found a DOCTYPE, allowed: XML without one"
NO_XML = "found no well-formed XML ("
TREE = {"type": "object", "properties": {"child": {"$ref": "#"}}, "additionalProperties": False}


def why(validation: str, body: object, schema: dict[str, Any] | None = None) -> str:
    """The reason, or "" where there is none."""
    found = fault(validation, schema, *encoded(body))
    assert found is None or (found and found.isprintable() and len(found) <= 300)
    return found or ""


def test_none_takes_everything() -> None:
    assert why("none", b"\xff\x00") == why("none", "") == why("none", {"a": 1}) == ""


def test_empty_takes_no_bytes() -> None:
    assert why("empty", b"") == why("empty", "") == ""
    assert why("empty", "a ") == "found 2 bytes, allowed: an empty body"
    assert why("empty", None) == "found 4 bytes, allowed: an empty body"


@pytest.mark.parametrize(
    "body",
    [
        "<a/>",
        b"<a/>",
        "\ufeff<a>\u00e9\U0001f600</a>\n<!-- the end -->",
        "<?xml version='1.0'?><?php phpinfo() ?><a b='1'><![CDATA[<&]]>&lt;&#x41;</a>",
        "<p:a xmlns:p='urn:p' p:b='1' b='1' xml:lang='en'/>",
        "<a>\u00e9</a>".encode("utf-16"),
        "<?xml version='1.0' encoding='UTF-16'?><a>\u00e9</a>".encode("utf-16"),
        "<?xml version='1.0' encoding='iso-8859-1'?><a>\u00e9</a>".encode("latin-1"),
        "<?xml version='1.0' encoding='windows-1252'?><a>\u20ac</a>".encode("cp1252"),
        "<a>" * 1000 + "</a>" * 1000,
        "<a>" + "<b/>" * 5000 + "</a>",
    ],
)
def test_well_formed_xml(body: object) -> None:
    assert why("xml", body) == ""


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("", NO_XML + "no element found: line 1, column 0), allowed: well-formed XML"),
        ("order", NO_XML + "syntax error: line 1, column 0)"),
        ({"a": 1}, NO_XML),
        ("<a><b></a>", NO_XML + "mismatched tag: line 1, column 8)"),
        ("<a/><b/>", NO_XML + "junk after document element"),
        ("<a b='1' b='2'/>", NO_XML + "duplicate attribute"),
        ("<a>\0</a>", NO_XML),
        (b"\0", NO_XML),
        (b"\xef\xbb\xbf", NO_XML + "no element found"),
        ("<a>&#0;</a>", NO_XML + "reference to invalid character number"),
        ("<a>&nbsp;</a>", NO_XML + "undefined entity"),
        (b"<a>\xe9</a>", NO_XML + "not well-formed (invalid token): line 1, column 3)"),
        ("<a>" * 100_000, "found elements more than 1,000 deep, allowed: fewer"),
        ("<a>" * 1001 + "</a>" * 1001, "found elements more than 1,000 deep, allowed: fewer"),
    ],
)
def test_what_is_no_xml(body: object, expected: str) -> None:
    assert why("xml", body).startswith(expected)


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("<p:a/>", "unbound prefix"),
        ("<a p:b='1'/>", "unbound prefix"),
        ("<a xmlns:p=''/>", "must not undeclare prefix"),
        ("<a xmlns:p='u' xmlns:q='u' p:x='1' q:x='2'/>", "duplicate attribute"),
        ("<p:a:b xmlns:p='u'/>", "not well-formed (invalid token)"),
    ],
)
def test_namespaces_are_well_formed_too(body: str, expected: str) -> None:
    assert why("xml", body).startswith(NO_XML + expected)


@pytest.mark.parametrize(
    "body",
    [
        f"<!DOCTYPE a [<!ENTITY l0 'ha'>{LAUGHS}]><a>&l9;</a>",
        f"<!DOCTYPE a [<!ENTITY x '{'a' * 100_000}'>]><a>{'&x;' * 100_000}</a>",
        "<!DOCTYPE a [<!ENTITY % x '&#37;x;'> %x;]><a/>",
        "<!DOCTYPE a PUBLIC '-//W3C//DTD XHTML 1.0//EN' 'http://127.0.0.1:9/a.dtd'><a/>",
        "<!DOCTYPE a [<!ENTITY x SYSTEM 'http://127.0.0.1:9/'>]><a>&x;</a>",
        "<!DOCTYPE a [<!ENTITY % x SYSTEM 'file:///etc/passwd'> %x;]><a/>",
        "<!DOCTYPE a><a/>",
        "<!DOCTYPE a><a/>".encode("utf-16"),
        "<!DOCTYPE a><a/>".encode("utf-16-le"),
        "\n<!DOCTYPE a><a/>".encode("utf-16-be"),
        "<?xml version='1.0'?>\n<!-- <!-> --><?p <a? >?>\n<!DOCTYPE a><a/>",
        b"\xef\xbb\xbf<!DOCTYPE a><a/>",
        " " * 1_000_000 + "<!-- -->" * 100_000 + "<!DOCTYPE a><a/>",
        f"<!DOCTYPE a [<!ENTITY e0 ''>{CHAIN}]><a>&e199999;</a>",
    ],
)
def test_no_doctype_so_no_entities_and_nothing_external(body: object) -> None:
    assert why("xml", body) == DOCTYPE


def test_a_doctype_in_a_comment_is_none() -> None:
    assert (
        why("xml", "<!-- <!DOCTYPE a> --><?p <!DOCTYPE a>?><a><![CDATA[<!DOCTYPE a>]]></a>") == ""
    )
    assert why("xml", "<!---><!DOCTYPE a><!-- --><a/>").startswith(NO_XML)
    assert why("xml", "<a/><!DOCTYPE a>").startswith(NO_XML)


def test_namespaces_are_not_written_out_for_ever() -> None:
    long, limit = "u" * 4_000_000, "u" * 500
    refused = "found a namespace of 4000000 characters, allowed: at most 500"
    assert why("xml", f"<a xmlns='{long}'>{'<b/>' * 400_000}</a>") == refused
    uses = "".join(f" p:x{n}=''" for n in range(300_000))
    assert why("xml", f"<a xmlns:p='{long}'{uses}/>") == refused
    assert why("xml", f"<a xmlns='{limit}'>{'<b/>' * 1000}</a>") == ""


def test_an_entity_reads_no_file(tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("<secret/>", encoding="utf-8")
    body = f"<!DOCTYPE a [<!ENTITY x SYSTEM '{secret.as_uri()}'>]><a>&x;</a>"
    assert why("xml", body) == DOCTYPE
    assert why("xml", "<a>&x;</a>").startswith(NO_XML + "undefined entity")


@pytest.mark.parametrize("name", ["UTF-8", "UTF-16", "ISO-8859-1", "klingon", "gbk"])
def test_a_text_is_a_text_whatever_encoding_it_declares(name: str) -> None:
    assert why("xml", f"<?xml version='1.0' encoding='{name}'?><a>\u00e9</a>") == ""


@pytest.mark.parametrize(
    "name", ["UTF-16", "klingon", "gbk", "rot13", "undefined", "idna", "punycode", "x" * 400]
)
def test_bytes_that_are_not_what_they_declare(name: str) -> None:
    body = f"<?xml version='1.0' encoding='{name}'?><a>\u00e9</a>".encode()
    assert why("xml", body).startswith(NO_XML)


@pytest.mark.parametrize(
    "body",
    [
        {"a": [1, None, "\u00e9"]},
        None,
        7,
        "null",
        ' {"a": 1} \n',
        b'{"a": 1}',
        '{"a": 1, "a": 2}',
        '"\\ud800\\u0000"',
        "9" * 4000,
        "1e-999",
        "[" * 500 + "]" * 500,
    ],
)
def test_json(body: object) -> None:
    assert why("json", body) == ""


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("", "found no JSON (Expecting value: line 1, column 1), allowed: JSON"),
        (b"", "found no JSON (Expecting value: line 1, column 1), allowed: JSON"),
        ("{'a': 1}", "found no JSON (Expecting property name enclosed in double quotes: line 1, "),
        ("[1,\n2,]", "found no JSON ("),
        ("01", "found no JSON (Extra data: line 1, column 2), allowed: JSON"),
        ("NaN", "found NaN, allowed: numbers that JSON has"),
        ('{"a": [-Infinity]}', "found -Infinity, allowed: numbers that JSON has"),
        ("1e999", "found the number 1e999, allowed: numbers below 10^308"),
        ("-1" + "0" * 400 + ".5", "found the number -10000"),
        ("9" * 5000, "found JSON with an integer of thousands of digits, allowed: shorter ones"),
        ("\ufeff{}", "found no JSON (Unexpected UTF-8 BOM"),
        ("{}".encode("utf-16"), "found no JSON (byte 0 is not UTF-8), allowed: JSON in UTF-8"),
        (b'"\xc3\x28"', "found no JSON (byte 1 is not UTF-8), allowed: JSON in UTF-8"),
        (b'"\xed\xa0\x80"', "found no JSON (byte 1 is not UTF-8), allowed: JSON in UTF-8"),
        (b"\0", "found no JSON (Expecting value"),
        (b'"\0"', "found no JSON (Invalid control character"),
        ("[" * 100_000 + "]" * 100_000, "found JSON that is too deep, allowed: fewer lists"),
        ('{"a":' * 100_000 + "1" + "}" * 100_000, "found JSON that is too deep, allowed: fewer"),
        ("[" * 100_000, "found JSON that is too deep, allowed: fewer lists"),
    ],
)
def test_what_is_no_json(body: object, expected: str) -> None:
    assert why("json", body).startswith(expected)


@pytest.mark.parametrize(
    ("schema", "body", "expected"),
    [
        ({"type": "integer"}, '"a secret"', '$ (type: "integer")'),
        ({"required": ["id"]}, {}, '$ (required: ["id"])'),
        ({"properties": {"price": {"minimum": 0}}}, {"price": -1}, "$.price (minimum: 0)"),
        ({"items": {"properties": {"a": False}}}, '[{}, {"a": 1}]', "$[1] (false)"),
        ({"items": {"enum": ["x" * 500]}}, "[1]", '$[0] (enum: ["xxxxx'),
        (TREE, {"child": {"child": {"chidl": {}}}}, "$.child.child (additionalProperties: false)"),
        ({"additionalProperties": {"type": "null"}}, {"k\n" * 500: 1}, "$['k\\nk"),
    ],
)
def test_a_schema_says_where_and_which_rule(
    schema: dict[str, Any], body: object, expected: str
) -> None:
    found = why("json", body, schema)
    assert found.startswith(f"found JSON that its schema refuses at {expected}")
    assert "secret" not in found


def test_a_schema_takes_what_satisfies_it() -> None:
    assert why("json", {"child": {"child": {}}}, TREE) == ""
    assert why("json", '{"child": {}}', TREE) == ""
    assert why("json", "{", TREE).startswith("found no JSON (")


def test_a_schema_is_of_the_draft_that_it_names() -> None:
    schema: dict[str, Any] = {"prefixItems": [{"type": "null"}]}
    assert why("json", [1], schema) != ""
    assert why("json", [1], {"$schema": "http://json-schema.org/draft-07/schema#"} | schema) == ""


def test_what_a_schema_cannot_follow_is_refused() -> None:
    nested = "[" * 500 + "]" * 500
    assert why("json", nested, {"items": {"$ref": "#"}}).startswith(
        "found JSON that is too deep for its schema, allowed: "
    )
    assert why("json", nested, {"type": "array"}) == ""
    assert why("json", "9" * 4000, {"multipleOf": 0.5}).startswith(
        "found JSON with a number that is too large for its schema, allowed: "
    )


PIECES = st.sampled_from(
    (
        *(
            b"<a>",
            b"</a>",
            b"<a",
            b"/>",
            b"<!DOCTYPE a [",
            b"<!ENTITY x 'y'>",
            b"]>",
            b"&x;",
            b"&#",
        ),
        *(b"<?xml version='1.0' encoding='", b"utf-7", b"utf-16", b"'?>", b"xmlns:p='", b"<p:a"),
        *(
            b"[",
            b"]",
            b'{"a":',
            b"}",
            b'"',
            b",",
            b"\\ud800",
            b"1e",
            b"9" * 400,
            b"-",
            b"NaN",
            b"0",
        ),
        *(b"\xef\xbb\xbf", b"\xff\xfe", b"\0", b"\xff", b" ", b"\n"),
    )
)


@given(
    st.binary(max_size=60) | st.lists(PIECES | st.binary(max_size=3), max_size=12).map(b"".join),
    st.sampled_from(["none", "empty", "xml", "json"]),
    st.sampled_from([BYTES, TEXT, JSON]),
    st.sampled_from([None, TREE, {"items": {"uniqueItems": True, "multipleOf": 0.1}}]),
)
@example(b"<?xml version='1.0' encoding='undefined'?><a/>", "xml", BYTES, None)
@settings(max_examples=500, deadline=None)
def test_no_bytes_are_too_much(
    body: bytes, validation: str, format_: int, schema: dict[str, Any] | None
) -> None:
    found = fault(validation, schema, format_, body)
    assert found is None or (found and found.isprintable() and len(found) <= 300)


@given(st.recursive(st.none() | st.integers() | st.text(), st.lists))
def test_what_json_writes_is_json(data: object) -> None:
    assert why("json", json.dumps(data)) == ""
