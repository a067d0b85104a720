"""An extension of Griffe, which reads the docstrings for the API reference."""

import re

import griffe

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
            for name, each in parent.members.items():
                if each.is_alias:
                    continue
                if isinstance(each, griffe.Module | griffe.Class):
                    todo.append(each)
                if isinstance(parent, griffe.Class) and each.docstring is None:
                    each.docstring = _inherited(parent, name)


def _inherited(kind: griffe.Class, name: str) -> griffe.Docstring | None:
    docstrings = (base.members[name].docstring for base in kind.mro() if name in base.members)
    return next((each for each in docstrings if each), None)
