"""What does SQLMesh make of the texts of a seed? It reads the file by pandas, which takes some of them for NULL, and
texts that all look like numbers for numbers."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from sqlglot.tokenizer_core import Token, TokenType

from backfill_assets.importing.header import plain
from backfill_assets.importing.seeds import listed
from backfill_assets.importing.sqlmesh_file import Property, inside, split

_NULLS = frozenset({
    "", "#N/A", "#N/A N/A", "#NA", "-1.#IND", "-1.#QNAN", "-NaN", "-nan", "1.#IND", "1.#QNAN", "<NA>", "N/A", "NA",
    "NULL", "NaN", "None", "n/a", "nan", "null",
})  # fmt: skip
"""What pandas reads as NULL, with quotes or without."""
_WHOLE = re.compile(r"[+-]?[0-9]{1,18}")
_NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]{1,3})?")
_TRUTH = {"true": "True", "false": "False"}


@dataclass(frozen=True, slots=True, kw_only=True)
class SeedReading:
    """How pandas reads a seed: its delimiter, what is NULL, and settings that are not carried over, with lines."""

    delimiter: str = ","
    nulls: frozenset[str] = _NULLS
    unknown: tuple[tuple[int, str], ...] = ()

    def texts(self, column: str, kind: str, texts: Sequence[str]) -> Iterator[tuple[str, str]]:
        """What becomes of a column's texts there, where it is something else than here."""
        nulls = [t for t in texts if t in self.nulls]
        if strange := [t for t in nulls if t]:
            why = "SQLMesh reads them by pandas as NULL, Spark as texts: make them empty in the copy, or NULL in models"
            yield f"{listed(strange)} in the column `{plain(column)}` of a seed", why
        if kind != "string":
            return
        if "" in texts and "" not in self.nulls:
            why = "they are empty texts there (`keep_default_na`), and NULL here"
            yield f"empty values in the column `{plain(column)}` of a seed", why
        given = [t for t in texts if t not in self.nulls]
        if changed := [t for t, there in zip(given, _as_numbers(given, bool(nulls)), strict=True) if t != there]:
            why = "SQLMesh reads them by pandas as numbers or truth values, and writes these as texts in another way"
            yield f"{listed(changed)} in the column `{plain(column)}` of a seed", why


def _as_numbers(texts: Sequence[str], nulls: bool) -> list[str]:
    """The texts as pandas would write them: whole numbers with NULLs among them are floats."""
    if texts and all(_WHOLE.fullmatch(t) for t in texts):
        return [str(float(t) if nulls else int(t)) for t in texts]
    if texts and all(_NUMBER.fullmatch(t) for t in texts):
        return [str(float(t)) for t in texts]
    if texts and all(t.lower() in _TRUTH for t in texts):
        return [_TRUTH[t.lower()] for t in texts]
    return list(texts)


def seed_reading(settings: Property | None) -> SeedReading:
    """What `csv_settings (…)` of a seed's kind says."""
    delimiter, own, usual = ",", frozenset[str](), True
    unknown: list[tuple[int, str]] = []
    for part in split(inside(settings.tokens) or ()) if settings is not None else ():
        key, value = part[0].text.lower(), [t for t in part[1:] if t.text not in ("=", ":", ":=")]
        found = _literals(value)
        if key == "delimiter" and found is not None and len(found) == 1 and len(tab := _tab(found[0])) == 1:
            delimiter = tab
        elif key == "na_values" and found is not None:
            own = frozenset(found)
        elif key == "keep_default_na" and len(value) == 1 and value[0].text.lower() in ("true", "false"):
            usual = value[0].text.lower() == "true"
        elif key != "doublequote" or len(value) != 1 or value[0].text.lower() != "true":
            unknown.append((part[0].line, f"`{plain(key)}` of csv_settings"))
    return SeedReading(delimiter=delimiter, nulls=(_NULLS if usual else frozenset()) | own, unknown=tuple(unknown))


def _literals(tokens: Sequence[Token]) -> list[str] | None:
    """The texts and numbers of a list, or the one; None for anything else."""
    within = inside(tokens)
    parts = list(split(within if within is not None else tokens))
    if any(len(p) != 1 or p[0].token_type not in (TokenType.STRING, TokenType.NUMBER) for p in parts):
        return None
    return [p[0].text for p in parts]


def _tab(text: str) -> str:
    return "\t" if text == "\\t" else text
