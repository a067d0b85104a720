"""An extension of Griffe, which reads the docstrings for the API reference."""

import re

import griffe

AWAITED = re.compile(r"(?:reads|writes|awaited)\((\w+)\.(\w+)\)")
"""A verb of another class, as a coroutine."""
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
                verb = isinstance(each, griffe.Attribute) and AWAITED.fullmatch(str(each.value))
                if verb and isinstance(parent, griffe.Class):
                    parent.set_member(name, _awaited(pkg, parent, each, *verb.groups()))
                    continue
                if isinstance(each, griffe.Module | griffe.Class):
                    todo.append(each)
                if isinstance(parent, griffe.Class) and each.docstring is None:
                    each.docstring = _inherited(parent, name)


def _awaited(
    pkg: griffe.Module, parent: griffe.Class, each: griffe.Attribute, kind: str, verb: str
) -> griffe.Function:
    """The verb of another class, as the coroutine that it is here."""
    plain = pkg[parent.resolve(kind).partition(".")[2]]
    (found, *_) = (each.members[verb] for each in [plain, *plain.mro()] if verb in each.members)
    coroutine = griffe.Function(
        each.name,
        lineno=each.lineno,
        endlineno=each.endlineno,
        parameters=found.parameters,
        returns=found.returns,
        docstring=found.docstring,
        parent=parent,
    )
    coroutine.labels.add("async")
    return coroutine


def _inherited(kind: griffe.Class, name: str) -> griffe.Docstring | None:
    docstrings = (base.members[name].docstring for base in kind.mro() if name in base.members)
    return next((each for each in docstrings if each), None)
