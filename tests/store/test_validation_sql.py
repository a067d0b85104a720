"""What plain SQL refuses as a body, the library refuses; what it cannot look at, it says so."""

import random
from collections.abc import Iterator
from typing import Any

import psycopg
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fairlead.store.dialogs.validation import fault
from fairlead.store.queues.bodies import BYTES, TEXT, encoded
from tests.store import test_validation as in_python
from tests.stores import made_url

ASKED = {
    "xml": "SELECT fairlead._not_xml(%s, %s)",
    "json": "SELECT %s::bigint IS NULL, fairlead._not_json(%s)",
}
ONLY_LIBRARY = "FL009"
LONGEST = 500_000
"""Of bytes: what is longer takes time."""


@pytest.fixture(scope="module")
def connection() -> Iterator[psycopg.Connection[Any]]:
    with psycopg.connect(made_url("postgresql"), autocommit=True) as found:
        yield found


def check(
    connection: psycopg.Connection[Any], validation: str, format_: int, body: bytes
) -> str | None:
    """Both say the same of a body, unless plain SQL says that it cannot look; what SQL says."""
    said = fault(validation, None, format_, body)
    try:
        row = connection.execute(ASKED[validation].encode(), [format_, body]).fetchone()
    except psycopg.Error as error:
        if error.sqlstate != ONLY_LIBRARY:
            raise
        return ONLY_LIBRARY
    found = None if row is None else row[-1]
    if said is not None and "too deep" in said and validation == "json":
        return None  # each follows as deep as it can
    assert (found is None) == (said is None), (body[:200], format_, found, said)
    return found and str(found)


def bodies(*tests: Any) -> list[Any]:
    """What tests in Python are given."""
    found = []
    for test in tests:
        for row in test.pytestmark[0].args[1]:
            body = row[0] if isinstance(row, tuple) else row
            format_, raw = encoded(body)
            if len(raw) < LONGEST:
                found.append((format_, raw))
    return found


XML = bodies(
    in_python.test_well_formed_xml,
    in_python.test_what_is_no_xml,
    in_python.test_namespaces_are_well_formed_too,
    in_python.test_no_doctype_so_no_entities_and_nothing_external,
)
JSON = bodies(in_python.test_json, in_python.test_what_is_no_json)


def test_sql_says_what_the_library_says(connection: psycopg.Connection[Any]) -> None:
    for validation, every in (("xml", XML), ("json", JSON)):
        for format_, raw in every:
            check(connection, validation, format_, raw)
            check(connection, validation, TEXT if _is_text(raw) else BYTES, raw)


@pytest.mark.parametrize(
    "text",
    [
        "<priority>80</priority>",
        '<?xml version="1.0" encoding="UTF-8" standalone="yes"?><request time="1">0</request>',
        "<a b='&lt;&#65;' c=\">\"><!-- - > --><?p ?><![CDATA[ ]]]]><![CDATA[> ]]></a>\n",
        "<a xmlns='urn:x' xmlns:p='urn:y'><p:b p:c='1' c='1'/></a>",
        "<a.b-c_1/>",
        "<a\n b = '1'\t/>",
    ],
)
def test_sql_takes_usual_xml_itself(connection: psycopg.Connection[Any], text: str) -> None:
    assert check(connection, "xml", TEXT, text.encode()) is None
    assert check(connection, "xml", BYTES, text.encode()) is None


@pytest.mark.parametrize(
    "text",
    [
        *("", "x", "<a>", "</a>", "<a></b>", "<a/><a/>", "<a/>x", "<a b=1/>", "<a b='1'b='2'/>"),
        *("<a b='<'/>", "<a>&x;</a>", "<a b='&x;'/>", "<a>&#xD800;</a>", "<a>]]></a>", "<a>&</a>"),
        *("<!-- -- --><a/>", "<a/><![CDATA[x]]>", "<a/><?xml version='1.0'?>", "<a.b></axb>"),
        *(
            "<1/>",
            "<a:/>",
            "<:a/>",
            "<p:a/>",
            "<a p:b='1'/>",
            "<a\x01/>",
            "<a>\x1f</a>",
            "&lt;<a/>",
        ),
        "<p:a xmlns:p='u'><b xmlns:q='u' p:x='1' q:x='2'/></p:a>",
    ],
)
def test_sql_refuses_itself_what_is_no_xml(connection: psycopg.Connection[Any], text: str) -> None:
    assert (check(connection, "xml", TEXT, text.encode()) or "").startswith("found no well-formed")


PIECES = st.sampled_from(
    [
        *("<a>", "</a>", "<a", "/>", ">", " ", "\n", "<b/>", "<!--", "-->", "-", "<?p", "?>", "?"),
        *("<![CDATA[", "]]>", "]", "<!DOCTYPE a>", "&lt;", "&#65;", "&#0;", "&x;", "&", "x", "<"),
        *(
            " b='1'",
            ' c="2"',
            " b",
            "='1'",
            "'",
            '"',
            "=",
            " xmlns='u'",
            " xmlns:p='u'",
            " p:b='1'",
        ),
        *("<p:a>", "</p:a>", "<?xml version='1.0'?>", "\ufeff", "\u00e9", "\u0001", " xmlns:p=''"),
    ]
)
JSONS = st.sampled_from(
    [
        *("[", "]", "{", "}", '"', ":", ",", '"a":', "\\", "\\u", "d800", "0", "1", "-", ".", "e"),
        *(
            "E+",
            "999",
            "null",
            "true",
            "NaN",
            "Infinity",
            " ",
            "\n",
            "\t",
            "\u00e9",
            "\x01",
            "9" * 400,
        ),
    ]
)


@given(st.lists(PIECES, max_size=12).map("".join))
@settings(max_examples=400, deadline=None)
def test_random_xml(connection: psycopg.Connection[Any], text: str) -> None:
    check(connection, "xml", TEXT, text.encode())


@given(st.lists(JSONS, max_size=10).map("".join) | st.binary(max_size=6))
@settings(max_examples=400, deadline=None)
def test_random_json(connection: psycopg.Connection[Any], text: str | bytes) -> None:
    format_, raw = (BYTES, text) if isinstance(text, bytes) else (TEXT, text.encode())
    check(connection, "json", format_, raw)


@pytest.mark.slow
def test_random_trees_that_are_damaged(connection: psycopg.Connection[Any]) -> None:
    dice = random.Random(7)  # noqa: S311
    for _ in range(20_000):
        text = list(tree(dice, 3))
        for _ in range(dice.choice([0, 0, 1, 2])):
            place = dice.randrange(len(text))
            text[place] = dice.choice(["", "<", ">", "&", "'", "a", " ", ":", "/", "]", "-", "?"])
        check(connection, "xml", TEXT, "".join(text).encode())


def tree(dice: random.Random, depth: int) -> str:
    """Well-formed XML, as it may be."""
    name = dice.choice(["a", "b", "p:c", "x.y"])
    attributes = "".join(
        f" {each}='{dice.choice(['1', '&lt;', ''])}'"
        for each in dice.sample(["d", "e", "p:f"], dice.randrange(3))
    )
    parts = [
        dice.choice(["text", "&#65;", "<!-- x-y -->", "<?p q?>", "<![CDATA[<]]>", ""])
        if depth == 0 or dice.random() < 0.5
        else tree(dice, depth - 1)
        for _ in range(dice.randrange(3))
    ]
    return f"<{name}{attributes} xmlns:p='u'>{''.join(parts)}</{name}>"


def _is_text(raw: bytes) -> bool:
    try:
        return "\0" not in raw.decode()
    except UnicodeDecodeError:
        return False
