"""JSON Schemas: read, checked once, and compiled to validators that fetch nothing.

jsonschema, which does the work, is an extra, and is loaded where the first schema is met.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from decimal import Decimal
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urljoin

import msgspec

from fairlead.balance.objects import repr_of, shown
from fairlead.config.paths import path_of
from fairlead.config.text import text_of
from fairlead.errors import ConfigError
from fairlead.extras import need
from fairlead.text import visible

if TYPE_CHECKING:
    from jsonschema.protocols import Validator
    from referencing import Resource

Schema = dict[str, Any]

REFERENCES: Final = ("$ref", "$dynamicRef", "$recursiveRef")
OF_EACH_KIND: Final[tuple[object, ...]] = (None, True, 0, "", [], {})
DRAFTS: Final = "allowed: one that Fairlead knows, or none (then it is draft 2020-12)"


def schema_of(value: object, folder: Path) -> Schema:
    """A schema as a file gives it: a table, or the path of a JSON file from that folder.

    It is checked: it is plain data, a JSON Schema of the draft that it names (without one: draft
    2020-12), and each of its references leads to a place in it or to a draft's own schema, because
    nothing is ever fetched. It is the declarer's own: a `pattern` (Python's regular expressions),
    or schemas in schemas, that take for ever on some bodies are not found out. `format` says what
    is meant and refuses nothing. Raises ConfigError.
    """
    if isinstance(value, Mapping):
        schema: Schema = _plain(value)
        _check(schema)
        return schema
    if not (isinstance(value, str) and value and value.isprintable()):
        raise ConfigError(
            f"found {shown(value)}, allowed: a table, or the path of a JSON file from this file"
        )
    path = path_of(folder / value, ConfigError)
    text = text_of(path, ConfigError)
    try:
        schema = _of_json(text)
        _check(schema)
    except ConfigError as error:
        raise ConfigError(f"{path}: {error}") from None
    return schema


@lru_cache(maxsize=256)
def validator(schema: bytes) -> Validator:
    """The compiled form of a schema that was checked, given as JSON; it fetches nothing."""
    return _validator(json.loads(schema))


def _validator(schema: Schema) -> Validator:
    need("schemas", "JSON Schema")
    from jsonschema import Draft202012Validator
    from jsonschema.validators import validator_for
    from referencing import Registry

    kind: type[Validator] = validator_for(schema, default=Draft202012Validator)
    return kind(schema, registry=Registry())


def _of_json(text: str) -> Schema:
    try:
        schema = json.loads(text, parse_constant=_no_constant)
    except json.JSONDecodeError as error:
        raise ConfigError(
            f"not JSON: {error.msg} (line {error.lineno}, column {error.colno})"
        ) from None
    except ValueError:
        raise ConfigError("not JSON: an integer of thousands of digits") from None
    except RecursionError:
        raise ConfigError("not JSON: found lists or objects too deep in each other") from None
    if not isinstance(schema, dict):
        raise ConfigError(f"found {shown(schema)}, allowed: a JSON object")
    return schema


def _no_constant(found: str) -> object:
    raise ConfigError(f"not JSON: found {found}, allowed: numbers that JSON has")


def _plain(given: Any) -> Any:  # noqa: ANN401 - whatever the file holds
    """What TOML says as JSON says it: a Decimal is a number like all others."""
    if isinstance(given, Mapping):
        return {key: _plain(value) for key, value in given.items()}
    if isinstance(given, list):
        return [_plain(value) for value in given]
    if isinstance(given, Decimal) and given.is_finite():
        return float(given)
    if not isinstance(given, str | int):
        raise ConfigError(f"found {shown(given)}, allowed: texts, numbers, true, false")
    return given


def _check(schema: Schema) -> None:
    """Raises ConfigError for what is no schema, leads elsewhere, or never ends."""
    need("schemas", "JSON Schema")
    from jsonschema import Draft202012Validator
    from jsonschema.exceptions import SchemaError
    from jsonschema.validators import validator_for

    draft = schema.get("$schema", "")
    try:
        if msgspec.json.decode(msgspec.json.encode(schema)) != schema:
            raise ConfigError("found a number beyond all that can be kept, allowed: smaller ones")
        if "$schema" in schema and (
            not isinstance(draft, str) or validator_for(schema, default=None) is None
        ):
            raise ConfigError(f"$schema: found {shown(draft)}, {DRAFTS}")
        validator_for(schema, default=Draft202012Validator).check_schema(schema)
        compiled = _validator(schema)
        base = type(compiled).ID_OF(schema) or ""
        if urljoin(base, base) != base:  # references to it would lead further away at each step
            raise ConfigError(
                f"$id: found {repr_of(base)}, allowed: a whole address, or a file's name"
            )
        for target in _targets(compiled):
            validator_for(target, default=type(compiled)).check_schema(target)
        for sample in OF_EACH_KIND:
            next(compiled.iter_errors(sample), None)
    except SchemaError as error:
        raise ConfigError(
            f"no valid JSON Schema: {visible(error.json_path, 100)}: {visible(error.message, 200)}"
        ) from None
    except RecursionError:
        raise ConfigError(
            "no valid JSON Schema: it goes round in circles, or is too deep"
        ) from None
    except (ValueError, OverflowError) as error:  # an address that is none, a number beyond all
        raise ConfigError(f"no valid JSON Schema: {visible(str(error))}") from None


def _targets(compiled: Validator) -> Iterator[Any]:
    """What the references of a schema lead to, and theirs. Raises ConfigError."""
    from jsonschema_specifications import REGISTRY
    from referencing.exceptions import Unresolvable
    from referencing.jsonschema import specification_with

    made = specification_with(type(compiled).ID_OF(compiled.META_SCHEMA)).create_resource
    root: Resource[Any] = made(compiled.schema)
    met, left = set[int](), [(root, REGISTRY.resolver_with_root(root))]
    while left:
        resource, resolver = left.pop()
        if id(resource.contents) in met or not isinstance(resource.contents, dict):
            continue
        met.add(id(resource.contents))
        for key in REFERENCES:
            ref = resource.contents.get(key)
            if not isinstance(ref, str):
                continue
            try:
                target = resolver.lookup(ref)
            except (Unresolvable, ValueError, TypeError):
                raise ConfigError(
                    f"{key}: found {repr_of(ref)}, which is nowhere in the schema, allowed: a "
                    "place in it (nothing is fetched)"
                ) from None
            if not isinstance(target.contents, dict | bool):
                raise ConfigError(f"{key}: found {repr_of(ref)}, which is no schema")
            if id(target.contents) not in met:
                yield target.contents
                left.append((made(target.contents), target.resolver))
        left += [(part, resolver.in_subresource(part)) for part in resource.subresources()]
