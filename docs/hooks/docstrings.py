"""An extension of Griffe, which reads the docstrings for the API reference."""

import re

import griffe

VERB = re.compile(r"(reads|writes|awaited|alone|called)\((\w+)\.(\w+)\)")
"""A verb of another class: as a coroutine, or in a transaction of its own."""
AWAITED = {"reads", "writes", "awaited"}
EXAMPLE = re.compile(r"^>>> .*?(?=\n\s*\n|\Z)", re.MULTILINE | re.DOTALL)


class Docstrings(griffe.Extension):
    """Examples are blocks of code; what overrides something without a word means the same."""

    def on_object(self, *, obj: griffe.Object, **_: object) -> None:
        """Fence what stands between `>>>` and an empty line."""
        if obj.docstring:
            obj.docstring.value = EXAMPLE.sub(r"```pycon\n\g<0>\n```", obj.docstring.value)

    def on_package(self, *, pkg: griffe.Module, **_: object) -> None:
        """Give members of classes that have no docstring that of the class they inherit from."""
        todo: list[griffe.Module | griffe.Class] = [pkg]
        while todo:
            parent = todo.pop()
            for name, each in [*parent.members.items()]:
                if each.is_alias:
                    continue
                verb = isinstance(each, griffe.Attribute) and VERB.fullmatch(str(each.value))
                if verb and isinstance(parent, griffe.Class):
                    parent.set_member(name, _verb(pkg, parent, each, *verb.groups()))
                    continue
                if isinstance(each, griffe.Module | griffe.Class):
                    todo.append(each)
                if isinstance(parent, griffe.Class) and each.docstring is None:
                    each.docstring = _inherited(parent, name)


def _verb(
    pkg: griffe.Module, parent: griffe.Class, each: griffe.Attribute, how: str, kind: str, verb: str
) -> griffe.Function:
    """The verb of another class, as it is here."""
    plain = pkg[parent.resolve(kind).partition(".")[2]]
    owner = next(each for each in [plain, *plain.mro()] if verb in each.members)
    found = owner.members[verb]
    if isinstance(found, griffe.Attribute) and (original := VERB.fullmatch(str(found.value))):
        found = _verb(pkg, pkg[owner.canonical_path.partition(".")[2]], found, *original.groups())
    function = griffe.Function(
        each.name,
        lineno=each.lineno,
        endlineno=each.endlineno,
        parameters=found.parameters,
        returns=found.returns,
        docstring=found.docstring,
        parent=parent,
    )
    if how in AWAITED:
        function.labels.add("async")
    return function


def _inherited(kind: griffe.Class, name: str) -> griffe.Docstring | None:
    docstrings = (base.members[name].docstring for base in kind.mro() if name in base.members)
    return next((each for each in docstrings if each), None)
