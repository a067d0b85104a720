"""Options of Spark's reader: an unknown one would have no effect, and Spark says nothing of it."""

from __future__ import annotations

import codecs
from collections.abc import Mapping
from typing import Final

from fairlead.balance.objects import hint, listed, shown
from fairlead.errors import UserError

ENCODINGS: Final = {
    "iso8859-1": "ISO-8859-1",
    "ascii": "UTF-8",
    "utf-8": "UTF-8",
    "utf-16": "UTF-16",
    "utf-16-le": "UTF-16LE",
    "utf-16-be": "UTF-16BE",
    "utf-32": "UTF-32",
}
"""Encodings by their names in Python, which knows all others that they have, as Spark calls them.

What is no ASCII would be lost without a word if that were taken at its word.
"""
OF_FILES: Final = (
    *("pathGlobFilter", "recursiveFileLookup", "modifiedBefore", "modifiedAfter", "basePath"),
    *("ignoreCorruptFiles", "ignoreMissingFiles", "ignoredPathSegmentRegex"),
)
OF_TIMES: Final = (
    *("dateFormat", "timestampFormat", "timestampNTZFormat", "timeFormat", "timeZone", "locale"),
    "enableDateTimeParsingFallback",
)
OF_TEXT: Final = ("encoding", "charset", "lineSep", "multiLine", "samplingRatio", "mode")
KNOWN: Final[Mapping[str, tuple[str, ...]]] = {
    "csv": (
        *("sep", "delimiter", *OF_TEXT, "quote", "escape", "comment", "header", "inferSchema"),
        *("ignoreLeadingWhiteSpace", "ignoreTrailingWhiteSpace", "nullValue", "emptyValue"),
        *("nanValue", "positiveInf", "negativeInf", "maxColumns", "maxCharsPerColumn"),
        *("charToEscapeQuoteEscaping", "unescapedQuoteHandling", "enforceSchema", "preferDate"),
        *("inputBufferSize", *OF_TIMES, *OF_FILES),
    ),
    "json": (
        *(*OF_TEXT, "primitivesAsString", "prefersDecimal", "allowComments", "inferTimestamp"),
        *("allowUnquotedFieldNames", "allowSingleQuotes", "allowNumericLeadingZeros"),
        *("allowNonNumericNumbers", "allowBackslashEscapingAnyCharacter", "dropFieldIfAllNull"),
        *("allowUnquotedControlChars", "useUnsafeRow", *OF_TIMES, *OF_FILES),
    ),
    "parquet": ("mergeSchema", "datetimeRebaseMode", "int96RebaseMode", *OF_FILES),
    "text": ("encoding", "charset", "lineSep", "wholetext", *OF_FILES),
    "orc": ("mergeSchema", *OF_FILES),
}
"""What Spark reads of each format, without what the stages say themselves."""
ALSO: Final = {"delimiter": "sep", "charset": "encoding"}
"""Other names of the same option."""
OF_TABLES: Final = ("versionAsOf", "timestampAsOf")
"""Which version of a table of a catalog is read, where it has versions."""
PERMISSIVE: Final = "PERMISSIVE"


def checked(options: Mapping[str, str], file_format: str) -> dict[str, str]:
    """The options as Spark takes them. Raises UserError for one that would have no effect."""
    known = KNOWN[file_format]
    folded = {name.lower(): name for name in known}
    settings: dict[str, str] = {}
    for name, value in options.items():
        if name.lower() not in folded:
            raise _refused(
                f"found {shown(name)}, allowed for {file_format}: {listed(known)}"
                f"{hint(name, known)}"
            )
        option = ALSO.get(folded[name.lower()], folded[name.lower()])
        if option in settings:
            raise _refused(f"found {option} again as {name!r}, allowed: once")
        settings[option] = value
    if settings.get("mode", PERMISSIVE).upper() != PERMISSIVE:
        raise _refused(
            f"mode: found {shown(settings['mode'])}, allowed: only {PERMISSIVE}; what is no row is "
            "put into rejected/, with its reason"
        )
    if "encoding" in settings:
        settings["encoding"] = _encoding(settings["encoding"])
    return settings


def of_no_table(options: Mapping[str, str]) -> dict[str, str]:
    """Those of the options that a table of a catalog does not have.

    >>> of_no_table({"versionAsOf": "3", "sep": ";"})
    {'sep': ';'}
    """
    return {name: value for name, value in options.items() if name not in OF_TABLES}


def _encoding(value: str) -> str:
    try:
        return ENCODINGS[codecs.lookup(value).name]
    except LookupError:
        words = ", ".join(dict.fromkeys(ENCODINGS.values()))
        raise _refused(
            f"encoding: found {shown(value)}, allowed: {words}; iconv -t UTF-8 makes one of others"
        ) from None


def _refused(line: str) -> UserError:
    return UserError(f"options: {line}", f"--read-option: {line}")
