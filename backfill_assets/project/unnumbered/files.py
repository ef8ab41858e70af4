"""The file of a model whose record holds its code and its header's values, but no file."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

_SAME_NAME = (
    "cadence", "time_column", "lookback", "grain", "write", "updated_at", "code_version", "spark", "start", "end",
)  # fmt: skip


def file_of(name: str, said: Mapping[str, Any]) -> tuple[str, str] | None:
    """Its place in the project, and a text that reads as the record says; None where modules that it imports lack."""
    if said["language"] == "python":
        place = str(said["path"]).replace("\\", "/").rpartition("/models/")[2]
        return None if said.get("helpers") else (f"models/{place}", said["code"])
    header: dict[str, Any] = {key: said[key] for key in _SAME_NAME if said.get(key)}
    if said.get("dedupe"):
        header["dedupe"] = {"order_by": [f"{c} {'desc' if down else 'asc'}" for c, down in said["dedupe"]]}
    if said.get("columns"):
        header["columns"] = {n: {"type": t, "description": d} for n, t, d in said["columns"]}
    if said.get("allow_nondeterministic"):
        header["allow_nondeterministic"] = said["allow_nondeterministic"]
    header["audits"] = [_unique_grain(a) for a in said["audits"] if a["kind"] == "unique_grain"]
    return f"models/{name}.sql", f"/*\n{json.dumps(header)}\n*/\n{said['code']}\n"


def _unique_grain(audit: Mapping[str, Any]) -> dict[str, Any]:
    """Who reads the table relies on its key only when this audit blocks."""
    severity = "error" if audit["blocking"] else "warn"
    return {"unique_grain": {**audit["arguments"], "name": audit["name"], "severity": severity}}
