"""Decimals of JSON lines that Spark rounds are told."""

from __future__ import annotations

from pathlib import Path

import pytest

from backfill_assets.adapters.json_numbers import rounded_json_decimals
from backfill_assets.adapters.source_columns import file_columns
from backfill_assets.adapters.source_files import files_at
from backfill_assets.adapters.source_pins import FilePins
from backfill_assets.core.model import Column, Source


def source(folder: Path, **options: str) -> Source:
    columns = (
        Column(name="Net", type="decimal(10,2)"),
        Column(name="vat", type="decimal(10,2)"),
        Column(name="t", type="string"),
    )
    return Source(name="raw", format="json", path=str(folder), columns=columns, options=options, file=folder, line=3)


@pytest.mark.parametrize(
    ("text", "options", "rounded"),
    [
        ('{"net": 12.5, "vat": 2.40, "t": "1.2345"}\n', {}, set[str]()),
        ('{"net": 1.00}\n{"NET": 12.345, "vat": "0.125"}\n', {}, {"net", "vat"}),
        ('{"net": 1e-3, "vat": NaN}\n\n[1.234]\n', {}, {"net"}),
        ('{"net": 12.500, "vat": null, "more": {"vat": 1.234}}\n', {}, set[str]()),
        ('{"net": 12.345}\nno json\n', {}, set[str]()),
        ('{"net": 12.345}\n', {"multiLine": "true"}, set[str]()),
        ('{"net": 1.25}\n' * 2000 + '{"net": 1.255}\n', {}, set[str]()),
    ],
    ids=["as declared", "more", "exponents", "zeros", "no lines", "all at once", "further than is looked"],
)
def test_numbers_that_are_rounded(tmp_path: Path, text: str, options: dict[str, str], rounded: set[str]) -> None:
    (tmp_path / "a.json").write_text(text)
    read = source(tmp_path, **options)
    [file] = files_at(str(tmp_path))
    assert rounded_json_decimals(read, file) == rounded
    [told] = file_columns(read, FilePins().pin(read), lambda: None)
    assert told.rounded == rounded
