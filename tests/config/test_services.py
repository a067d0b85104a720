"""The file that a store is declared by: what is read, and what each mistake is answered."""

import json
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fairlead.config.schemas import schema_of, validator
from fairlead.config.services import ServicesFile, check, load_declared
from fairlead.errors import ConfigError

ALL = """
[[queue]]
name = "shop"
poison = "off"

[[message_type]]
name = "Order"
validation = "json"
schema = "order.schema.json"

[[message_type]]
name = "Confirmation"
validation = "json"
schema = { properties = { price = { minimum = 0.5 } } }

[[message_type]]
name = "SetPriority"

[[contract]]
name = "Orders"
initiator = ["Order"]
target = ["Confirmation"]
any = ["SetPriority"]

[[service]]
name = "Orders/Shop"
queue = "shop"
contracts = ["Orders"]
max_readers = 10
handler = "shop:service"

[[service]]
name = "Orders/Client"
queue = "clients"
"""
TYPE = '[[message_type]]\nname = "T"\n'
JSON = TYPE + 'validation = "json"\n'
CONTRACT = '[[contract]]\nname = "C"\n'
SERVICE = '[[service]]\nname = "S"\nqueue = "q"\n'


def write(folder: Path, text: str) -> Path:
    file = folder / "shop.toml"
    file.write_text(text, encoding="utf-8")
    return file


def declared(folder: Path, text: str) -> ServicesFile:
    return load_declared(write(folder, text))


def refused(folder: Path, text: str) -> str:
    """The error line without the folder."""
    with pytest.raises(ConfigError) as caught:
        declared(folder, text)
    line = str(caught.value)
    assert line.startswith(str(folder / "shop.toml"))
    assert line.isprintable()
    return line.replace(f"{folder}/", "")


def test_all_four_kinds_are_read(tmp_path: Path) -> None:
    schema = {"type": "object", "required": ["item"]}
    (tmp_path / "order.schema.json").write_text(json.dumps(schema), encoding="utf-8")
    found = declared(tmp_path, ALL)
    assert [(each.name, each.poison) for each in found.queues] == [("shop", "off")]
    assert [(each.name, each.validation, each.schema) for each in found.message_types] == [
        ("Order", "json", schema),
        ("Confirmation", "json", {"properties": {"price": {"minimum": 0.5}}}),
        ("SetPriority", "none", None),
    ]
    (contract,) = found.contracts
    assert contract.types == [
        ("initiator", "Order"),
        ("target", "Confirmation"),
        ("any", "SetPriority"),
    ]
    shop, client = found.services
    assert (shop.queue, shop.contracts, shop.max_readers, shop.handler) == (
        "shop",
        ["Orders"],
        10,
        "shop:service",
    )
    assert (client.queue, client.contracts, client.max_readers, client.handler) == (
        "clients",
        [],
        1,
        None,
    )
    check(found)


def test_one_kind_is_enough(tmp_path: Path) -> None:
    assert declared(tmp_path, SERVICE).services[0].name == "S"
    assert declared(tmp_path, '[[queue]]\nname = "q"\n').queues[0].poison == "dead-letters"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", "shop.toml: the table: found nothing, allowed: at least one [[queue]], [[message_ty"),
        ("queue = []\n", "shop.toml: the table: found nothing, allowed: at least one [[queue]],"),
        ("[[servce]]\n", "servce: found an unknown key, allowed: queue, message_type, contract"),
        ("[[servce]]\n", "; did you mean 'service'?"),
        ("message_type = 3\n", "shop.toml:1: message_type: found 3, allowed: a list, each a table"),
        ("message_type = [3]\n", "shop.toml:1: message_type[1]: found 3, allowed: a table"),
        (TYPE * 2, "shop.toml:1: message_type: found 'T' twice, allowed: each name once"),
        (CONTRACT + 'any = ["T"]\n' + CONTRACT + 'any = ["T"]\n', "contract: found 'C' twice"),
        (SERVICE * 2, "service: found 'S' twice, allowed: each name once"),
        ('[[queue]]\nname = "q"\n' * 2, "queue: found 'q' twice, allowed: each name once"),
        (
            '[[queue]]\nname = "q"\npoison = "of"\n',
            "shop.toml:3: queue[1] 'q'.poison: found 'of', ",
        ),
        (f'[[queue]]\nname = "{"q" * 501}"\n', ".name: found 501 characters, allowed: at most 500"),
        ('[[queue]]\nname = "a\\nb"\n', r"name: found 'a\nb', allowed: a text of printable charac"),
        ('[[service]]\nqueue = "q"\n', "service[1].name: found nothing, allowed: a text that is n"),
        ('[[service]]\nname = "S"\n', "service[1] 'S'.queue: found nothing, allowed: a text that"),
        (SERVICE.replace('"q"', '""'), "service[1] 'S'.queue: found nothing, allowed: a text that"),
        (SERVICE.replace('"q"', '"\\u0000"'), r"queue: found '\x00', allowed: a text of printable"),
        (
            SERVICE + "max_readers = 0\n",
            "shop.toml:4: service[1] 'S'.max_readers: found 0, allowed",
        ),
        (SERVICE + 'handler = "shop"\n', "handler: found 'shop', allowed: MODULE:NAME"),
        (SERVICE + 'handler = ":shop"\n', "handler: found ':shop', allowed: MODULE:NAME"),
        (SERVICE + 'contracts = ["A", "B", "A"]\n', "contracts: found 'A' twice, allowed: each na"),
        (
            SERVICE + 'contracts = [""]\n',
            "service[1] 'S'.contracts[1]: found nothing, allowed: a t",
        ),
        (
            SERVICE + SERVICE.replace("S", "R") + "maximum = 3\n",
            "shop.toml:7: service[2] 'R'.maximum: found an unknown key, allowed: name, queue, cont",
        ),
        (CONTRACT, "contract[1] 'C'.initiator: found no message type here, in target or in any, "),
        (CONTRACT + "any = []\n", "found no message type here, in target or in any, allowed: at l"),
        (
            CONTRACT + 'initiator = ["T"]\nany = ["U", "T"]\n',
            "shop.toml:4: contract[1] 'C'.any: found 'T' in initiator, too, allowed: each type onc",
        ),
        (CONTRACT + 'any = ["T", "T"]\n', "any: found 'T' twice, allowed: each type once"),
        (
            CONTRACT + 'target = ["Error"]\n',
            "shop.toml:3: contract[1] 'C'.target: found 'Error', which only a store itself sends",
        ),
        (
            TYPE.replace('"T"', '"EndDialog"'),
            "shop.toml:2: message_type[1] 'EndDialog'.name: found",
        ),
        (TYPE.replace('"T"', '"DialogTimer"'), "which only a store itself sends, allowed: another"),
        (TYPE + 'validation = "yaml"\n', "found 'yaml', allowed: empty, json, none, xml"),
        (
            TYPE + "schema = {}\n",
            "schema: found one with the validation none, allowed: only with j",
        ),
        (
            JSON + "schema = 3\n",
            "schema: found 3, allowed: a table, or the path of a JSON file fro",
        ),
        (JSON + 'schema = ""\n', "schema: found nothing, allowed: a table, or the path of a JSON"),
        (JSON + 'schema = "\\u0000"\n', "schema: found '\\x00', allowed: a table, or the path of"),
    ],
)
def test_mistakes(tmp_path: Path, text: str, expected: str) -> None:
    assert expected in refused(tmp_path, text)


@pytest.mark.parametrize(
    ("schema", "expected"),
    [
        ("", "s.json: not JSON: Expecting value (line 1, column 1)"),
        ("{", "s.json: not JSON: Expecting property name"),
        ("true", "s.json: found true, allowed: a JSON object"),
        ("[1]", "s.json: found [1], allowed: a JSON object"),
        ('{"minimum": NaN}', "s.json: not JSON: found NaN, allowed: numbers that JSON has"),
        ('{"minimum": 1e999}', "s.json: found a number beyond all that can be kept, allowed: sm"),
        ('{"minimum": ' + "9" * 5000 + "}", "s.json: not JSON: an integer of thousands of digits"),
        ('{"not": ' * 100_000 + "{}" + "}" * 100_000, "not JSON: found lists or objects too deep"),
        ('{"not": ' * 400 + "{}" + "}" * 400, "s.json: no valid JSON Schema: it goes round in ci"),
        ('{"type": "strng"}', "s.json: no valid JSON Schema: $.type: 'strng' is not "),
        ('{"properties": {"a": {"minimum": "1"}}}', "no valid JSON Schema: $.properties.a.minimum"),
        ('{"pattern": "("}', "no valid JSON Schema: $.pattern: '(' is not a 'regex'"),
        ('{"patternProperties": {"(": true}}', "is not a 'regex'"),
        ('{"$schema": "http://example.com/mine"}', "$schema: found 'http://example.com/mine', all"),
        ('{"$schema": 3}', "$schema: found 3, allowed: one that Fairlead knows, or none"),
        ('{"$schema": "http://["}', "no valid JSON Schema: "),
        ('{"$id": "http://[", "items": {"$ref": "a"}}', "no valid JSON Schema: Invalid IPv6 URL"),
        (
            '{"items": {"$ref": "http://127.0.0.1:9/s.json"}}',
            "shop.toml:4: message_type[1] 'T'.schema: s.json: $ref: found 'http://127.0.0.1:9/s.js",
        ),
        ('{"$ref": "file:///etc/passwd"}', "$ref: found 'file:///etc/passwd', which is nowhere"),
        (
            '{"$ref": "o.json"}',
            "found 'o.json', which is nowhere in the schema, allowed: a place in it (nothing",
        ),
        ('{"$id": "a/", "$ref": "a/"}', "$id: found 'a/', allowed: a whole address, or a file's "),
        ('{"$ref": "#/$defs/a"}', "$ref: found '#/$defs/a', which is nowhere in the schema"),
        ('{"$dynamicRef": "#none"}', "$dynamicRef: found '#none', which is nowhere in the schema"),
        ('{"allOf": [{"$ref": "#/allOf/x"}]}', "$ref: found '#/allOf/x', which is nowhere"),
        ('{"$ref": "#/hidden", "hidden": 3}', "$ref: found '#/hidden', which is no schema"),
        ('{"$ref": "#/hidden", "hidden": {"type": 3}}', "no valid JSON Schema: $.type: 3 is not"),
        ('{"$ref": "#/hidden", "hidden": {"$ref": "http://a"}}', "$ref: found 'http://a', which"),
        ('{"$ref": "#"}', "s.json: no valid JSON Schema: it goes round in circles, or is too deep"),
        ('{"type": "object", "allOf": [{"$ref": "#"}]}', "it goes round in circles"),
    ],
)
def test_schemas_that_are_none(tmp_path: Path, schema: str, expected: str) -> None:
    (tmp_path / "s.json").write_text(schema, encoding="utf-8")
    assert expected in refused(tmp_path, JSON + 'schema = "s.json"\n')


def test_schema_files_that_cannot_be_read(tmp_path: Path) -> None:
    text = JSON + 'schema = "schemas/none.json"\n'
    assert refused(tmp_path, text) == (
        "shop.toml:4: message_type[1] 'T'.schema: schemas/none.json: no such file"
    )
    (tmp_path / "schemas").mkdir()
    assert "schemas: cannot be read: Is a directory" in refused(
        tmp_path, JSON + 'schema = "schemas"\n'
    )
    (tmp_path / "schemas" / "none.json").write_bytes(b'{"a": "\xff"}')
    assert "schemas/none.json:1: cannot be read: not a text in UTF-8" in refused(tmp_path, text)


@pytest.mark.parametrize(
    ("schema", "expected"),
    [
        ("{ const = 2026-01-01 }", "found 2026-01-01, allowed: texts, numbers, true, false"),
        ("{ minimum = nan }", "schema: found NaN, allowed: texts, numbers, true, false"),
        ("{ minimum = 1e999 }", "schema: found a number beyond all that can be kept"),
        ('{ type = "strng" }', "message_type[1] 'T'.schema: no valid JSON Schema: $.type: 'strn"),
    ],
)
def test_inline_schemas_that_are_none(tmp_path: Path, schema: str, expected: str) -> None:
    assert expected in refused(tmp_path, JSON + f"schema = {schema}\n")


@pytest.mark.parametrize(
    "schema",
    [
        {},
        {"$id": "s.json", "items": {"$ref": "s.json"}},
        {"type": "object", "properties": {"child": {"$ref": "#"}}},
        {"$id": "https://example.com/a", "$defs": {"b": {"$id": "b"}}, "items": {"$ref": "b"}},
        {"$schema": "http://json-schema.org/draft-04/schema#", "exclusiveMinimum": True}
        | {"minimum": 0},
        {"$ref": "https://json-schema.org/draft/2020-12/schema"},
        {"properties": {"$ref": {"type": "string"}}, "const": {"$ref": "http://example.com"}},
    ],
)
def test_schemas_that_need_nothing_else(tmp_path: Path, schema: dict[str, Any]) -> None:
    (tmp_path / "s.json").write_text(json.dumps(schema), encoding="utf-8")
    found = declared(tmp_path, JSON + 'schema = "s.json"\n').message_types[0].schema
    assert found == schema
    assert validator(json.dumps(schema).encode()).is_valid({}) in {True, False}


KEYWORDS = (
    *("$ref", "$id", "$anchor", "$schema", "$defs", "$dynamicRef", "$dynamicAnchor", "items"),
    *("allOf", "anyOf", "not", "if", "then", "properties", "patternProperties", "type", "enum"),
    *("minimum", "multipleOf", "required", "pattern", "unevaluatedItems", "dependentSchemas"),
    *("additionalProperties", "contains", "prefixItems", "propertyNames", "uniqueItems"),
)
WORDS = st.sampled_from(
    (
        "#",
        "#/$defs/a",
        "#a",
        "a",
        "a/",
        "http://a",
        "http://[",
        "#/%",
        "#/items/0",
        "object",
        "array",
        "string",
    )
) | st.text(max_size=3)
SCHEMAS = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | WORDS,
    lambda inside: (
        st.lists(inside, max_size=3)
        | st.dictionaries(st.sampled_from(KEYWORDS) | WORDS, inside, max_size=4)
    ),
    max_leaves=12,
)


@given(st.dictionaries(st.sampled_from(KEYWORDS), SCHEMAS, max_size=4), SCHEMAS)
@settings(max_examples=300, deadline=None)
def test_whatever_a_schema_says_it_is_refused_or_can_be_used(schema: Any, body: object) -> None:
    try:
        found = schema_of(schema, Path())
    except ConfigError:
        return
    with suppress(RecursionError, OverflowError):
        validator(json.dumps(found).encode()).is_valid(body)


def test_names_that_lead_nowhere(tmp_path: Path) -> None:
    def wrong(text: str, *known: list[str]) -> str:
        with pytest.raises(ConfigError) as caught:
            check(declared(tmp_path, text), *known)
        return str(caught.value)

    contract = CONTRACT + 'initiator = ["A"]\nany = ["Ordr"]\n'
    types = TYPE + TYPE.replace('"T"', '"A"')
    assert wrong(types + contract, ["Order"]) == (
        "contract[1] 'C'.any: found the message type 'Ordr', allowed: T, A, Order; "
        "did you mean 'Order'?"
    )
    assert wrong(CONTRACT + 'any = ["T"]\n') == (
        "contract[1] 'C'.any: found the message type 'T', allowed: none: there is no message type"
    )
    both = TYPE + CONTRACT + 'any = ["T"]\n' + SERVICE + 'contracts = ["C", "c"]\n'
    assert wrong(both) == (
        "service[1] 'S'.contracts: found the contract 'c', allowed: C; did you mean 'C'?"
    )


def test_names_may_be_known_from_elsewhere(tmp_path: Path) -> None:
    text = CONTRACT + 'any = ["T", "U"]\n' + TYPE + SERVICE + 'contracts = ["C", "D"]\n'
    check(declared(tmp_path, text), {"U"}, {"D"})
