"""Stranger inputs: signers, names of files in other encodings, variables, numbers, damaged notes beside the records."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from backfill_assets_tests.unit.inputs.project import HEADER, QUERY, SETTINGS, assert_told, run, write

KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJ"
SIGNERS: list[tuple[str, bytes, int, str]] = [
    # name, what `allowed_signers` holds, the line of the problem (0: none), words
    ("Latin-1", f"# all\nana@example.com {KEY} ".encode() + b"caf\xe9\n", 2, "Latin-1"),
    ("UTF-16", f"ana@example.com {KEY}\n".encode("utf-16"), 1, "UTF-16"),
    ("zero byte", b"ana@example.com ssh-ed25519 AA\0AA\n", 1, "byte 31 is zero"),
    ("huge", b"#" * 4_000_001, 0, "too large"),
    ("a word", b"hello\n", 1, "no type of key"),
    ("no key", b"# who\n\nana@example.com ssh-rsa\n", 3, "no key behind ssh-rsa"),
    ("no name", f"{KEY} ana@example.com\n".encode(), 1, "whose key"),
    ("no Base64", b"ana@example.com ssh-rsa ???\n", 1, "is no key"),
    ("open quote", f'ana@example.com namespaces="git {KEY}\n'.encode(), 1, "quotation mark is not closed"),
    ("private", b"-----BEGIN OPENSSH PRIVATE KEY-----\nabc\n", 1, "it is a private key"),
    ("YAML", b"ana@example.com:\n  - key\n", 1, "no type of key"),
    ("an options only", b"ana@example.com cert-authority\n", 1, "no type of key"),
]


@pytest.mark.parametrize(("content", "line", "words"), [c[1:] for c in SIGNERS], ids=[c[0] for c in SIGNERS])
def test_signers(tmp_path: Path, content: bytes, line: int, words: str) -> None:
    """What `ssh-keygen` would silently pass over: whoever stands there could never approve."""
    told = run("rules", project=write(tmp_path, {"allowed_signers": content}))
    assert_told(told, 1, f"allowed_signers:{line}: " if line else "allowed_signers: ", words, "fix: ")


def test_all_signers_at_once(tmp_path: Path) -> None:
    """Each wrong line is told; right ones, patterns and options among them, are none."""
    right = (
        f'# team\n*@example.com,bo {KEY} me\nana namespaces="git,x y",cert-authority sk-{KEY[:11]}@openssh.com AA=\n'
    )
    assert run("rules", project=write(tmp_path / "right", {"allowed_signers": right})).code == 0
    told = run("rules", project=write(tmp_path / "wrong", {"allowed_signers": f"{right}a b\nc\n"}))
    assert_told(told, 1, "2 problems", "allowed_signers:4: ", "allowed_signers:5: ")


@pytest.mark.parametrize("put", [Path.mkdir, lambda file: file.symlink_to(file.name)], ids=["a folder", "a loop"])
def test_signers_that_are_no_file(tmp_path: Path, put: Callable[[Path], None]) -> None:
    """They are not taken for none: then nobody's signature would count."""
    put(write(tmp_path) / "allowed_signers")
    assert_told(run("rules", project=tmp_path), 1, "allowed_signers: ", "fix: ")


NAMES: list[tuple[bytes, str]] = [
    (b"caf\xe9.sql", "cannot name a model"),
    (b"a\nb.sql", "cannot name a model"),
    (b".hidden.sql", "cannot name a model"),
    (b"my-model.sql", "cannot name a model"),
    (b"1day.sql", "cannot name a model"),
    (b"a.b.sql", "cannot name a model"),
    ("💥.sql".encode(), "cannot name a model"),
    (b"n" * 200 + b".sql", "longer than 128"),
    (b"x.SQL", "rename it to x.sql"),
    (b"Daily.sql", "the name `daily` is taken"),
    (b"daily.py", "the name `daily` is taken"),
    (b"sub/daily.sql", "the name `daily` is taken"),
]


@pytest.mark.parametrize(("name", "words"), NAMES, ids=[repr(n[:20]) for n, _ in NAMES])
def test_names_of_models(tmp_path: Path, name: bytes, words: str) -> None:
    """Whatever bytes a folder holds."""
    file = write(tmp_path) / "models" / os.fsdecode(name)
    file.parent.mkdir(exist_ok=True)
    python = "from backfill_assets import model\n\n\n@model(start='2024-01-01', grain=['ds'])\n"
    python += "def daily(events, interval):\n    return events\n"
    file.write_text(python if name.endswith(b".py") else f"/*\n{HEADER}*/\n{QUERY}\n")
    assert_told(run("plan", project=tmp_path), 1, words, "fix: ")


def _names_its_folder(root: Path) -> None:
    (root / "models" / "sub").symlink_to(root / "models")


def _leads_nowhere(root: Path) -> None:
    (root / "models" / "nowhere").symlink_to("gone")


def _leads_to_itself(root: Path) -> None:
    (root / "models" / "self").symlink_to("self")


def _left_by_an_editor(root: Path) -> None:
    for name in ("daily.sql~", "daily.sql.bak", ".daily.sql.swp", "#daily.sql#", "daily.sql.orig"):
        (root / "models" / name).write_bytes(b"\xff\0")


def _other_bytes_among_the_data(root: Path) -> None:
    (root / "data" / "events" / os.fsdecode(b"caf\xe9.csv")).write_text("ds,kind,clicks\n2024-01-02,a,1\n")


@pytest.mark.parametrize(
    "change",
    [_names_its_folder, _leads_nowhere, _leads_to_itself, _left_by_an_editor, _other_bytes_among_the_data],
    ids=lambda f: f.__name__,
)
def test_what_lies_around(tmp_path: Path, change: Callable[[Path], None]) -> None:
    """Is passed over: it is nobody's mistake."""
    change(write(tmp_path))
    told = run("plan", project=tmp_path)
    assert told.code == 0 and "Traceback" not in told.err, told


@pytest.mark.parametrize("how", ["gone", "a file", "a loop"])
def test_no_folder_of_models(tmp_path: Path, how: str) -> None:
    """Said at the folder."""
    folder = write(tmp_path) / "models"
    shutil.rmtree(folder)
    if how == "a file":
        folder.write_text("x")
    elif how == "a loop":
        folder.symlink_to("models")
    assert_told(run("plan", project=tmp_path), 1, f"{folder}: ", "they are read from that folder", "fix: ")


VARIABLES: list[tuple[str, str, int, str]] = [
    # a variable, its value, the code, words
    ("BACKFILL_WAREHOUSE", "{root}/backfill.yml", 1, "is a file"),
    ("BACKFILL_WAREHOUSE", " ", 1, "it is empty"),
    ("BACKFILL_WAREHOUSE", "~nobody-is-called-this/x", 1, "no such user's home"),
    ("BACKFILL_WAREHOUSE", "htp://x", 1, "is none of"),
    ("BACKFILL_WAREHOUSE", "s3:///", 1, "names no place"),
    ("BACKFILL_WAREHOUSE", "{root}/" + "x" * 300, 1, "longer than 255"),
    ("BACKFILL_PROJECT", "{root}/backfill.yml", 1, "it is a file"),
    ("BACKFILL_PROJECT", "{root}/gone", 1, "does not exist"),
    ("BACKFILL_PROJECT", "~nobody-is-called-this", 1, "home"),
    ("BACKFILL_PROJECT", "x" * 5000, 1, "too long"),
    ("BACKFILL_CACHE", "{root}/backfill.yml", 0, ""),
    ("BACKFILL_CACHE", "/proc/nowhere", 0, ""),
    ("BACKFILL_UNTRUSTED", "maybe", 0, ""),
    ("COLUMNS", "0", 0, ""),
    ("COLUMNS", "-3", 0, ""),
    ("COLUMNS", "wide", 0, ""),
    ("COLUMNS", "99999999999999999999", 0, ""),
    ("LINES", "x", 0, ""),
    ("TERM", "", 0, ""),
    ("TZ", "Nowhere/Land", 0, ""),
    ("HOME", "/proc/nowhere", 0, ""),
]


@pytest.mark.parametrize(("name", "value", "code", "words"), VARIABLES, ids=[f"{v[0]}={v[1][:20]}" for v in VARIABLES])
def test_variables(tmp_path: Path, name: str, value: str, code: int, words: str) -> None:
    """Those that decide are named; what only speeds up or looks nicer never stops a command."""
    told = run("plan", project=write(tmp_path), **{name: value.format(root=tmp_path)})
    assert_told(told, code, *([words, "fix: "] if words else []))


NOTES = [b"", b"[]", b"null", b"\0", b"[" * 100_000, b'{"x": 5}', b'{"\xe9": 1}', b'{"warehouse": 5, "format": 1e999}']


@pytest.mark.parametrize("content", NOTES, ids=[repr(n[:12]) for n in NOTES])
def test_a_damaged_identity(tmp_path: Path, content: bytes) -> None:
    """Of a warehouse: it is not taken for a new one."""
    warehouse = write(tmp_path) / ".backfill" / "warehouse"
    warehouse.mkdir(parents=True)
    (warehouse / "warehouse.json").write_bytes(content)
    assert_told(run("plan", project=tmp_path), 1, "warehouse.json is damaged", "fix: ")


@pytest.mark.parametrize("content", NOTES, ids=[repr(n[:12]) for n in NOTES])
def test_a_damaged_memory(tmp_path: Path, content: bytes) -> None:
    """Of a project: it remembers nothing, is read by every command, and written anew."""
    from backfill_assets.adapters.warehouse import read_memory, write_memory
    from backfill_assets.state.identity import Identity, LastRelease

    memory = write(tmp_path) / ".backfill" / "warehouses.json"
    memory.parent.mkdir()
    memory.write_bytes(content)
    assert run("plan", project=tmp_path).code == 0
    release = LastRelease(id="r", environment="prod", commit=3)
    write_memory(tmp_path, "here", Identity(warehouse="w", project="shop", release=release))
    found = read_memory(tmp_path, "here")
    assert found is not None and found.commit == 3


@pytest.mark.parametrize("wrong", [{"commit": []}, {"generation": "x"}, {"tables": 7}, {"tables": {"rules": "x"}}])
def test_a_memory_of_other_types(tmp_path: Path, wrong: dict[str, object]) -> None:
    """Likewise, where it is about this warehouse."""
    from backfill_assets.adapters.warehouse import read_memory

    memory = write(tmp_path) / ".backfill" / "warehouses.json"
    memory.parent.mkdir()
    where = str(tmp_path / ".backfill" / "warehouse")
    said = {"warehouse": "w", "generation": 0, "release": "r", "commit": 3, "tables": {}}
    memory.write_text(json.dumps({where: said}))
    assert read_memory(tmp_path, where) is not None
    memory.write_text(json.dumps({where: said | wrong}))
    assert read_memory(tmp_path, where) is None
    assert run("plan", project=tmp_path).code == 0


@pytest.mark.parametrize(
    "arguments",
    [["plan", "--why", "a\0b"], ["plan", "--select", "\udce9"], ["plan", "--why", "caf\udce9"], ["sql", "SELECT '\0'"],
     ["backup", "x\0"], ["--project", "\udce9", "plan"], ["init", "\0"], ["releases", "\0"],
     ["plan", "--restate", "daily:2024-01-01..2024-01-01", "--ids", "caf\udce9.csv"]],
    ids=repr,
)  # fmt: skip
def test_arguments_that_are_no_text(tmp_path: Path, arguments: list[str]) -> None:
    """Another encoding than the terminal's, and zero bytes: nothing could record them."""
    assert_told(run(*arguments, project=write(tmp_path)), 2, "is no text", "fix: ")


@pytest.mark.parametrize("target", ["", "../..", "no-such-plan/x"])
def test_nothing_to_verify(tmp_path: Path, target: str) -> None:
    """It says what can be named."""
    assert_told(run("verify", target, project=write(tmp_path)), 1, "fix: ")


RIGHT = [
    "tolerance: 1e-9", "tolerance: 1E-09", "tolerance: 0", "lookback: 0", "lookback: 0x10", "timeout: 5",
    "audits: [{range: {column: clicks, min: 1e0, max: 1e6}}]", "audits: [{aggregate: {metric: sum(clicks), min: 1e0}}]",
    "audits: [{row_count: {within_percent: 1e1}}]", "audits: [{null_rate: {column: kind, max_percent: 1e-3}}]",
    "batch_size: 1_000", "tags: {pii: true}", "spark: {spark.sql.ansi.enabled: true}",
    "columns: {clicks: {type: bigint, description: 'yes'}}",
    "spark: {spark.sql.session.timeZone: UTC}",
]  # fmt: skip


@pytest.mark.parametrize("line", RIGHT)
def test_values_that_are_right(tmp_path: Path, line: str) -> None:
    """`1e-9` is a number, as the messages themselves write it, though YAML takes it for text."""
    text = f"/*\n{HEADER}{line}\n*/\n{QUERY}\n"
    assert run("plan", project=write(tmp_path, {"models/daily.sql": text})).code == 0


AUDITS: list[tuple[str, bytes, str]] = [
    ("zero byte", b"SELECT\0 1", "zero"),
    ("empty", b"", "odd.sql"),
    ("two", b"SELECT 1; SELECT 2", "odd.sql"),
    ("no query", b"DELETE FROM daily", "odd.sql"),
    ("Latin-1", b"SELECT '\xe9'", "Latin-1"),
    ("a name that is nobody's", b"SELECT * FROM nowhere WHERE x >= :start AND x < :end", "nowhere"),
    ("huge", b"SELECT " + b"x" * 4_100_000, "too large"),
    ("deep", b"SELECT " + b"(" * 2000 + b"1" + b")" * 2000, "nested too deeply"),
]


@pytest.mark.parametrize(("content", "words"), [c[1:] for c in AUDITS], ids=[c[0] for c in AUDITS])
def test_audits_files(tmp_path: Path, content: bytes, words: str) -> None:
    """The query of an audit; a mistake in the settings is told as well."""
    text = f"/*\n{HEADER}audits: [{{sql: odd}}]\nretries: -7\n*/\n{QUERY}\n"
    changes = {"models/daily.sql": text, "audits/odd.sql": content, "backfill.yml": f"{SETTINGS}nmae: x\n"}
    told = run("plan", project=write(tmp_path, changes))
    assert_told(told, 1, "odd.sql", words, "fix: ", "`retries`", "backfill.yml:4: ")
