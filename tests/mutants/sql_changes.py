"""Changes of SQL, by patterns: a comparison, a bound, an order, a condition that is left out."""

import re

from .change import Change, differing

PATTERNS = [
    (r"<=", "<"),
    (r"(?<![<>=-])<(?![=>-])", "<="),
    (r">=", ">"),
    (r"(?<![<>=-])>(?![=>-])", ">="),
    (r"(?<![<>=:!])= (?=[a-z:(']|\d)", "<> "),
    (r"<>", "="),
    (r"\bAND\b", "OR"),
    (r"\bOR\b(?! REPLACE)", "AND"),
    (r"\bNOT EXISTS\b", "EXISTS"),
    (r"(?<!NOT )\bEXISTS\b", "NOT EXISTS"),
    (r"\bIS NULL\b", "IS NOT NULL"),
    (r"\bIS NOT NULL\b", "IS NULL"),
    (r"(?<=[a-z0-9_)]) \+ (?=[a-z0-9_(:])", " - "),
    (r"(?<=[a-z0-9_)]) - (?=[a-z0-9_(:])", " + "),
    (r"\bmin\(", "max("),
    (r"\bmax\(", "min("),
    (r"\b(least|LEAST)\(", "greatest("),
    (r"\b(greatest|GREATEST)\(", "least("),
    (r"\btrue\b", "false"),
    (r"\bfalse\b", "true"),
    (r"\bDESC\b", "ASC"),
    (r"(ORDER BY [a-z_.]+)(?=[,\s);])(?! DESC)", r"\1 DESC"),
    (r"(?<![\w.'$])(\d+)(?![\w.'])", None),
    (r"\bAND [a-z_.]+ (=|<|>|<=|>=|<>) [a-z_.:]+(?=\s)", "AND true"),
    (r"^(\s*)PERFORM [^;]+;", r"\1NULL;"),
    (r"(?<=SET )([a-z_]+) = [a-z_.:]+(?= )", r"\1 = \1"),
]
"""What stands there, and what stands there instead; None: the number, one more."""

Place = tuple[int, int, int]
"""Line, pattern, and which of the line's it is."""


def places(text: str) -> list[Place]:
    """All that can be changed; comments are no code."""
    found = []
    for number, line in enumerate(text.splitlines(), 1):
        code = "" if "SET search_path" in line else line.split("--")[0]
        for k, (pattern, _) in enumerate(PATTERNS):
            found += [(number, k, i) for i, _ in enumerate(re.finditer(pattern, code))]
    return found


def changed(path: str, text: str, place: Place) -> Change | None:
    """The change at a place."""
    number, k, which = place
    pattern, instead = PATTERNS[k]
    lines = text.splitlines(keepends=True)
    line = lines[number - 1]
    match = list(re.finditer(pattern, line.split("--")[0]))[which]
    new = str(int(match[0]) + 1) if instead is None else match.expand(instead)
    lines[number - 1] = line[: match.start()] + new + line[match.end() :]
    after = "".join(lines)
    if after == text:
        return None
    _, old, shown = differing(text, after)
    return Change(path, number, f"{match[0].strip()} -> {new.strip()}", old, shown, after)
