"""Names cut to a length so that those that differ stay different."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from fairlead.text import visible

LONGEST: Final = 22
"""Characters of a label in a chart: what has room there."""
CUT: Final = "…"
ESCAPED: Final = 10
"""Characters that one becomes at most where it cannot be seen."""


def labels(names: Sequence[str], longest: int = LONGEST) -> dict[str, str]:
    """By name: the name on one line, cut in the middle where it is longer, no two the same.

    Those that would be cut alike lose what all of them begin with; what then is alike is numbered.

    >>> list(labels(["readers of the first gpu: 1", "readers of the first gpu: 2"]).values())
    ['readers of …rst gpu: 1', 'readers of …rst gpu: 2']
    >>> list(labels(["south: speed 1.5, south-2 up", "south: speed 2.5, south-2 up"]).values())
    ['…1.5, south-2 up', '…2.5, south-2 up']
    """
    whole = {name: visible(name, ESCAPED * len(name)) for name in names}
    alike: dict[str, list[str]] = {}
    for name, text in whole.items():
        alike.setdefault(_cut(text, longest), []).append(name)
    captions: dict[str, str] = {}
    for label, namesakes in alike.items():
        begin = _shared([whole[name] for name in namesakes]) if len(namesakes) > 1 else 0
        for name in namesakes:
            apart = label if len(namesakes) == 1 else _cut(CUT + whole[name][begin:], longest)
            captions[name] = _free(apart, {*captions.values(), *(alike.keys() - {label})}, longest)
    return {name: captions[name] for name in whole}


def _cut(name: str, longest: int) -> str:
    if len(name) <= longest:
        return name
    head = (longest - len(CUT) + 1) // 2
    tail = longest - len(CUT) - head
    return name[:head] + CUT + name[-tail:]


def _shared(texts: Sequence[str]) -> int:
    """How long the words are that all begin with; whole ones, so that no number is torn."""
    first, last = min(texts), max(texts)
    apart = next(
        (k for k, (a, b) in enumerate(zip(first, last, strict=False)) if a != b), len(first)
    )
    return first.rfind(" ", 0, apart) + 1


def _free(label: str, taken: set[str], longest: int) -> str:
    text, k = label, 2
    while text in taken:
        number = f" ({k})"
        text, k = _cut(label, longest - len(number)) + number, k + 1
    return text
