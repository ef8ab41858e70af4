"""What do CSV files call their columns? Without Spark; that rows follow is in `spark/test_csv_sources.py`."""

from __future__ import annotations

import gzip
import os
from dataclasses import replace
from pathlib import Path

import pytest

from backfill_assets.adapters.csv_days import csv_days
from backfill_assets.adapters.csv_header import (
    begins_with_names,
    breaks_rows,
    by_header,
    columns_of,
    decimal_commas,
    header_of,
    is_misencoded,
    misreads_quotes,
    rounded_decimals,
)
from backfill_assets.adapters.source_files import files_at
from backfill_assets.adapters.source_pins import FilePins
from backfill_assets.core.errors import PlanError
from backfill_assets.core.model import Column, Source
from backfill_assets.project.fingerprint import source_signature

COLUMNS = (("at", "timestamp"), ("net", "decimal(10,2)"), ("vat", "decimal(10,2)"))


def source(folder: Path, *columns: tuple[str, str], **options: str) -> Source:
    return Source(
        name="shop.bills",
        format="csv",
        path=str(folder),
        time_column="at",
        columns=tuple(Column(name=name, type=type_) for name, type_ in columns or COLUMNS),
        options={"header": "true"} | options,
        file=Path("sources.yml"),
        line=3,
    )


def write(folder: Path, **files: str) -> None:
    for name, text in files.items():
        place = folder / name.replace("__", "/").replace("_eq_", "=")
        place.parent.mkdir(parents=True, exist_ok=True)
        place.with_suffix(".csv").write_bytes(text.encode())


@pytest.mark.parametrize(
    ("text", "options", "names"),
    [
        ("at,net,vat\n1,2,3\n", {}, ("at", "net", "vat")),
        ("\ufeffat,net\r\n", {}, ("at", "net")),
        ("\n\n at , net \n", {}, ("at", "net")),
        ('"at ""utc""",net,"a,b"\n', {}, ('at "utc"', "net", "a,b")),
        ("at;net\n", {"sep": ";"}, ("at", "net")),
        ("at\tnet\n", {"delimiter": "\\t"}, ("at", "net")),
        ("at||net\n", {"sep": "||"}, ("at", "net")),
        ('"at",net\n', {"quote": ""}, ('"at"', "net")),
        ("# what it is\nat,net\n", {"comment": "#"}, ("at", "net")),
        ("", {}, ()),
        ("at,net\x1cvat\n", {}, None),
        ("at\x1cnet\n", {"sep": "\x1c"}, None),
        ('at,"net\nof all",vat\n', {"multiLine": "true"}, None),
        ("at,\udc80".encode("utf-8", "surrogatepass").decode("latin-1"), {"encoding": "utf-16"}, None),
        ("at," + "x" * 200_000 + "\n", {}, None),
        ("at\rnet\n", {"lineSep": "\n"}, None),
        ("at", {"encoding": "no such thing"}, None),
    ],
)
def test_the_first_line(tmp_path: Path, text: str, options: dict[str, str], names: tuple[str, ...] | None) -> None:
    write(tmp_path, one=text)
    [file] = files_at(str(tmp_path))
    assert header_of(source(tmp_path, **options), file) == names


def test_of_a_packed_file(tmp_path: Path) -> None:
    (tmp_path / "one.csv.gz").write_bytes(gzip.compress(b"vat,net,at\n"))
    [file] = files_at(str(tmp_path))
    assert header_of(source(tmp_path), file) == ("vat", "net", "at")


def test_of_a_file_that_cannot_be_read(tmp_path: Path) -> None:
    """Nothing is concluded of it; whoever reads its rows says what is wrong with it."""
    (tmp_path / "one.csv.gz").write_bytes(gzip.compress(b"vat,net,at\n" * 1000)[:20])
    write(tmp_path, gone="at\n")
    files = files_at(str(tmp_path))
    (tmp_path / "gone.csv").unlink()
    assert [header_of(source(tmp_path), file) for file in files] == [None, None]
    assert FilePins().pin(source(tmp_path))["count"] == 1


def test_files_by_their_headers(tmp_path: Path) -> None:
    """In any case and order, with others beside, with fewer, by a folder's name; empty files have none."""
    write(tmp_path, a="at,net,vat\n", b="VAT,who,AT\n", c="", d="at,net,vat\n", vat_eq_1__e="at,net,VAT\n")
    found = {
        columns and (columns.there, columns.folders): [file.inside[-1] for file in files]
        for columns, files in by_header(source(tmp_path), files_at(str(tmp_path)))
    }
    assert found == {
        (("at", "net", "vat"), ()): ["a.csv", "d.csv"],
        (("vat", None, "at"), ()): ["b.csv"],
        (("at", "net", None), ("vat",)): ["e.csv"],  # the folder's counts, as Spark has it
    }


def test_a_column_that_no_file_has_is_refused_by_the_plan(tmp_path: Path) -> None:
    """One that only some files have is there: columns come and go in years. Empty files say nothing."""
    write(tmp_path, a="at,net\n", b="")
    with pytest.raises(PlanError) as raised:
        FilePins().pin(source(tmp_path))
    assert "no file of source shop.bills has the column vat" in raised.value.what
    assert "a.csv is: at, net" in raised.value.why and "sources.yml:3" in raised.value.fix
    assert "files" in FilePins().pin(source(tmp_path, enforceSchema="true"))
    write(tmp_path, c="at,vat\n")
    assert FilePins().pin(source(tmp_path))["count"] == 3


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("2024-01-01 01:00:00,1.00,0.10\n", "has none of its columns"),
        ("Date;Net\n", "has none of its columns"),
        ("net,vat\n", "lacks at, its time column"),
    ],
)
def test_a_header_of_something_else_is_refused(tmp_path: Path, text: str, what: str) -> None:
    """Not read as rows of no time: they would be gone. A plan looks at the newest files, a build at all of them."""
    write(tmp_path, old=text)
    os.utime(tmp_path / "old.csv", (1, 1))
    write(tmp_path, new="at,net,vat\n")
    assert FilePins().pin(source(tmp_path))["count"] == 2
    with pytest.raises(PlanError, match=what):
        by_header(source(tmp_path), files_at(str(tmp_path)))
    assert csv_days(files_at(str(tmp_path))[1], source(tmp_path), "") is None, "nothing is concluded of it"


@pytest.mark.parametrize(("mode", "same"), [("PERMISSIVE", True), ("failfast", True), ("DROPMALFORMED", False)])
def test_whether_lines_are_refused_makes_no_version(tmp_path: Path, mode: str, same: bool) -> None:
    """What was built of them is what the other gives; lines that are dropped are another thing."""
    one, other = (source_signature(source(tmp_path, **options), "data") for options in ({}, {"mode": mode}))
    assert (one == other) is same


def test_a_column_that_is_there_twice_is_refused(tmp_path: Path) -> None:
    write(tmp_path, a="at,net,Net,vat\n")
    [file] = files_at(str(tmp_path))
    with pytest.raises(PlanError, match="has the column net more than once"):
        columns_of(source(tmp_path), file)


def test_its_days_are_those_of_the_named_column(tmp_path: Path) -> None:
    write(tmp_path, a="net,vat,at\n1,2,2024-01-03 10:00:00\n3,4,2024-01-05 11:00:00\n")
    [file] = files_at(str(tmp_path))
    assert str(csv_days(file, source(tmp_path), "")).startswith("2024-01-03")
    assert csv_days(file, source(tmp_path, enforceSchema="true"), "") is None, "the first column holds no time"


def test_places_decide_rows_where_values_go_by_them(tmp_path: Path) -> None:
    """Of files with a header the order in `sources.yml` is no matter; of others it says which value is whose."""
    at, net, vat = COLUMNS
    for options, same in (({}, True), ({"header": "false"}, False), ({"enforceSchema": "true"}, False)):
        one = source(tmp_path, at, net, vat, **options)
        other = replace(one, columns=source(tmp_path, at, vat, net).columns)
        longer = replace(one, columns=(*one.columns, Column(name="who", type="string")))
        signed = [source_signature(each, "data").columns for each in (one, other, longer)]
        assert (signed[0] == signed[1]) is same, options
        assert signed[0].items() <= signed[2].items(), "a column after all others moves none"


@pytest.mark.parametrize(
    ("line", "options", "misread"),
    [
        ('1,"Fran""ce",2', {}, True),
        ('1,"""France""",2', {}, True),
        ('"say ""no""",2,3', {}, True),
        ("1;'Fran''ce';2", {"sep": ";", "quote": "'"}, True),
        ('1,"Fran""ce",2', {"escape": '"'}, False),
        ('1,"Fran""ce",2', {"escape": "\\"}, False),
        ('1,"Fran""ce",2', {"quote": ""}, False),
        ('1,"Fran\\"\\"ce",2', {}, False),
        ('1,"",2', {}, False),
        ('"","",""', {}, False),
        ('1,5"" disk,2', {}, False),
        ("1,France,2", {}, False),
        ('1,"Fran""ce",2\r\n1,2\r3,4', {}, True),
        ('"' + "x" * 140_000 + '""y",2,3', {}, False),
        (",'a'',',2", {"quote": ",", "sep": ","}, False),
    ],
)
def test_quotes_within_quotes(tmp_path: Path, line: str, options: dict[str, str], misread: bool) -> None:
    """What pandas, Excel and DuckDB write is told from what Spark expects."""
    write(tmp_path, a=f"at,net,vat\n2024-01-01,1,2\n{line}\n")
    one = source(tmp_path, **options)
    assert misreads_quotes(one, files_at(str(tmp_path))[0]) is misread


@pytest.mark.parametrize(
    ("text", "options", "named"),
    [
        ("at,net,vat\n2024-01-01,1,2\n", {}, True),
        ("VAT;At;more;net\r\n", {"sep": ";"}, True),
        ("at,net,vat\n", {"header": "false"}, False),
        ("at,net,vat\n", {"header": "true"}, False),
        ("at,net\n", {}, False),
        ("2024-01-01,1,2\n", {}, False),
        ("", {}, False),
        ("at,net,vat\n", {"mode": "dropmalformed"}, False),  # that line goes
    ],
)
def test_a_header_that_nobody_told_of(tmp_path: Path, text: str, options: dict[str, str], named: bool) -> None:
    """Spark reads it as a row."""
    write(tmp_path, a=text)
    one = source(tmp_path)
    assert begins_with_names(replace(one, options=options), files_at(str(tmp_path))[0]) is named


def test_one_word_may_be_a_value(tmp_path: Path) -> None:
    write(tmp_path, a="status\nnew\n")
    [file] = files_at(str(tmp_path))
    assert not begins_with_names(replace(source(tmp_path, ("status", "string")), options={}), file)
    assert begins_with_names(replace(source(tmp_path, ("status", "int")), options={}), file)


def test_what_folders_hold_is_in_no_header(tmp_path: Path) -> None:
    write(tmp_path, vat_eq_7__a="at,net\n2024-01-01,1\n")
    assert begins_with_names(replace(source(tmp_path), options={}), files_at(str(tmp_path))[0])


@pytest.mark.parametrize(
    ("text", "options", "broken", "commas"),
    [
        ("at;net;vat\n2024-01-01;12,50;2,4\n", {"sep": ";"}, False, {"net", "vat"}),
        ("at;net;vat\n2024-01-01;1.234,56;2.4\n", {"sep": ";"}, False, {"net"}),
        ('at,net,vat\n2024-01-01,"12,50",2.4\n', {}, False, {"net"}),
        ("at;net;vat\n2024-01-01;12,500;1,234,567\n", {"sep": ";"}, False, set[str]()),  # may be thousands
        ("at;net;vat\n2024-01-01;12,50;2.4\n", {"sep": ";", "locale": "de"}, False, set[str]()),
        ("at;text;vat\n2024-01-01;12,50;2.4\n", {"sep": ";"}, False, set[str]()),  # no number, by what is declared
        ('at,net,text\n2024-01-01,1,"a\nb"\n2024-01-01,1,c\n', {}, True, set[str]()),
        ('at,net,text\n2024-01-01,1,"a\nb"\n', {"multiLine": "true"}, False, set[str]()),
        ('at,net,text\r\n2024-01-01,1,"a"\r\n', {}, False, set[str]()),
        ('at,net,text\n2024-01-01,1,"a \\" b"\n2024-01-01,1,c\n', {}, False, set[str]()),
        ('at,net,text\n2024-01-01,1,"a ""b"" c"\n', {}, False, set[str]()),
        ('at,net,text\n2024-01-01,1,an inch is 1"\n2024-01-01,1,2"\n', {}, False, set[str]()),
        ("at,net,text\n" + '2024-01-01,1,"a b"\n' * 2_000, {}, False, set[str]()),  # the look ends within a value
    ],
)
def test_values_that_are_read_otherwise(
    tmp_path: Path, text: str, options: dict[str, str], broken: bool, commas: set[str]
) -> None:
    """Decimal commas of columns that are declared as decimals, and values of several lines."""
    write(tmp_path, a=text)
    [file] = files_at(str(tmp_path))
    bills = source(tmp_path, *COLUMNS, ("text", "string"), **options)
    assert (breaks_rows(bills, file), decimal_commas(bills, file)) == (broken, commas)


@pytest.mark.parametrize(
    ("row", "options", "rounded"),
    [
        ("12.5,2.40", {}, set[str]()),
        ("12.345,2.4", {}, {"net"}),
        ("-0.125,.001", {}, {"net", "vat"}),
        ("12.500,1.2e-3", {}, set[str]()),  # zeros are lost without a loss; what has an exponent is not looked at
        ("12.345,2.4", {"locale": "de-DE"}, set[str]()),  # thousands there
        ("12.345,2.4", {"locale": "en-GB"}, {"net"}),
        ('"12.345",2.4', {}, {"net"}),
        ("-99.999,2.4", {"nullValue": "-99.999"}, set[str]()),
    ],
)
def test_numbers_that_are_rounded(tmp_path: Path, row: str, options: dict[str, str], rounded: set[str]) -> None:
    """More places after the point than are declared, of decimals, whatever comes first."""
    write(tmp_path, a=f"at,net,vat,text\n2024-01-01,1.00,1,7.12345\n2024-01-01,{row},0.1234\n")
    [file] = files_at(str(tmp_path))
    assert rounded_decimals(source(tmp_path, *COLUMNS, ("text", "string"), **options), file) == rounded


@pytest.mark.parametrize(
    ("content", "options", "odd"),
    [
        ("at,who\n2024-01-01,Müller\n".encode("latin-1"), {}, True),
        ("at,who\n2024-01-01,Müller\n".encode(), {}, False),
        ("at,who\n2024-01-01,Müller\n".encode("latin-1"), {"encoding": "ISO-8859-1"}, False),
        ("at,who\n2024-01-01,Müller\n".encode("latin-1"), {"encoding": "UTF-8"}, False),  # meant so
        (b"at,who\n2024-01-01," + b"x" * (64 * 1024 - 19) + "ü\n".encode(), {}, False),  # cut within a letter
    ],
)
def test_letters_of_another_encoding(tmp_path: Path, content: bytes, options: dict[str, str], odd: bool) -> None:
    """Spark reads each such byte as U+FFFD; the names are told nevertheless."""
    (tmp_path / "a.csv").write_bytes(content)
    [file] = files_at(str(tmp_path))
    bills = source(tmp_path, ("at", "timestamp"), ("who", "string"), **options)
    assert is_misencoded(bills, file) is odd
    assert header_of(bills, file) == ("at", "who")


def test_names_of_another_encoding_are_not_known(tmp_path: Path) -> None:
    """Values would go by names that the file does not have."""
    (tmp_path / "a.csv").write_bytes("at,größe\n2024-01-01,7\n".encode("latin-1"))
    [file] = files_at(str(tmp_path))
    assert header_of(source(tmp_path, ("at", "timestamp"), ("größe", "int")), file) is None
