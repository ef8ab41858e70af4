"""Statements of approvals: files that are none are refused with the reason, whatever is in them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from backfill_assets_tests.unit.inputs.project import assert_told, run, write

GOOD: dict[str, object] = {
    "plan": "1f3a9c02",
    "environment": "prod",
    "digest": "d",
    "scope": {"daily": [["2024-01-01", "2024-01-02"]]},
    "owner": "ana@example.com",
    "by": "ana@example.com",
    "at": "2024-01-03T00:00:00+00:00",
    "expires": "2024-02-03T00:00:00+00:00",
    "reason": "",
    "accepted": {},
    "own": False,
}


def _with(**changes: object) -> bytes:
    return json.dumps(GOOD | changes).encode()


CASES: list[tuple[str, bytes, str]] = [
    ("empty", b"", ""),
    ("blank", b"\n\n", ""),
    ("no JSON", b"yes, promote it", ""),
    ("null", b"null", "not one JSON object"),
    ("number", b"7", "not one JSON object"),
    ("text", b'"yes"', "not one JSON object"),
    ("list", b"[]", "not one JSON object"),
    ("list of statements", b"[" + _with() + b"]", "not one JSON object"),
    ("two statements", _with() + b"\n" + _with(), "Extra data"),
    ("half", _with()[:-20], ""),
    ("no fields", b"{}", "it lacks"),
    ("NaN", b'{"plan": NaN}', "NaN is no number"),
    ("infinity", b'{"at": -Infinity}', "is no number"),
    ("a key twice", b'{"plan": "a", "plan": "b"}', "given twice"),
    ("deep", b"[" * 100_000 + b"]" * 100_000, "nested too deeply"),
    ("deep maps", b'{"a":' * 50_000 + b"1" + b"}" * 50_000, "nested too deeply"),
    ("large", b'{"plan": "' + b"x" * 1_100_000 + b'"}', "longer than"),
    ("UTF-16", _with().decode().encode("utf-16"), "UTF-16"),
    ("Latin-1", _with(reason="x").replace(b'"x"', b'"\xe9"'), "no UTF-8"),
    ("zero byte", _with() + b"\0", "not text"),
    ("plan null", _with(plan=None), "`plan` is not the id of a plan"),
    ("plan number", _with(plan=5), "`plan` is not the id of a plan"),
    ("plan empty", _with(plan=""), "`plan` is not the id of a plan"),
    ("another plan", _with(plan="abcd"), "is about plan abcd, not 1f3a"),
    ("environment list", _with(environment=["prod"]), "`environment` is not"),
    ("digest null", _with(digest=None), "`digest` is not"),
    ("scope null", _with(scope=None), "`scope` is not"),
    ("scope list", _with(scope=["daily"]), "`scope` is not"),
    ("scope of numbers", _with(scope={"daily": [1, 2]}), "`scope` is not"),
    ("scope empty", _with(scope={"daily": []}), "`scope` is not"),
    ("scope of three", _with(scope={"daily": [["2024-01-01", "2024-01-02", "x"]]}), "`scope` is not"),
    ("scope reversed", _with(scope={"daily": [["2024-01-02", "2024-01-01"]]}), "`scope` is not"),
    ("scope of no days", _with(scope={"daily": [["soon", "later"]]}), "`scope` is not"),
    ("scope of nobody's days", _with(scope={"daily": None}), "`scope` is not"),
    ("by null", _with(by=None), "`by` is not a name"),
    ("by empty", _with(by=""), "`by` is not a name"),
    ("by a map", _with(by={"name": "ana"}), "`by` is not a name"),
    ("owner number", _with(owner=1), "`owner` is not text"),
    ("at null", _with(at=None), "`at` is not an instant"),
    ("at soon", _with(at="soon"), "soon"),
    ("at number", _with(at=1704067200), "`at` is not an instant"),
    ("at the end of days", _with(at="9999-12-31T23:59:59-05:00"), "out of range"),
    ("at the beginning", _with(at="0001-01-01T00:00:00+05:00"), "out of range"),
    ("reason null", _with(reason=None), "`reason` is not text"),
    ("reason list", _with(reason=["x"]), "`reason` is not text"),
    ("accepted list", _with(accepted=["drift"]), "`accepted` is not"),
    ("accepted null", _with(accepted=None), "`accepted` is not"),
    ("accepted of numbers", _with(accepted={"drift": 1}), "`accepted` is not"),
    ("several", _with(by=5, scope=5, reason=5), "`scope` is not"),
]


@pytest.mark.parametrize(("content", "words"), [c[1:] for c in CASES], ids=[c[0] for c in CASES])
def test_a_statement_that_is_none(tmp_path: Path, content: bytes, words: str) -> None:
    """Refused with its file's name and how to make one."""
    root = write(tmp_path, {"said.json": content, "said.json.sig": "x"})
    files = [str(root / "said.json"), str(root / "said.json.sig")]
    told = run("approve", "1f3a", "--statement", files[0], "--signature", files[1], project=root)
    assert_told(told, 1, "said.json", "fix: ", words)


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    """Both are told at once."""
    root = write(tmp_path)
    told = run("approve", "1f3a", "--statement", str(root), "--signature", str(root / "gone.sig"), project=root)
    assert_told(told, 1, "this is a folder, not a file", "gone.sig", "fix: ")
