"""Has a log entry all the lines that it was written with? Its first one says what the commit did, and is compared.

Delta's writers put the commit's metrics into `commitInfo`, ahead of the files that it adds and removes: an entry that
was cut at the end of a line is JSON throughout, and names fewer files than it counts.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

_COUNTS = {
    "WRITE": (("numFiles", "num_added_files"), ("numRemovedFiles", "num_removed_files")),
    "MERGE": (("numTargetFilesAdded",), ("numTargetFilesRemoved",)),
    "OPTIMIZE": (("numAddedFiles", "numFilesAdded"), ("numRemovedFiles", "numFilesRemoved")),
    "CLONE": (("numFiles",), ()),
}
"""Operation → how Spark, delta-rs and adoption call the number of files that it added, and of those that it removed."""
_INFO, _ADD = re.compile(rb'(?m)^\{"commitInfo".*$'), re.compile(rb'(?m)^\{"add".*$')


def flaw(content: bytes, commit: int) -> str:
    r"""What is wrong with an entry, to be said after its name; "" when it has all that it counts.

    An entry that counts nothing (`commitInfo` is optional) passes when it ends as it should.

    >>> info = b'{"commitInfo":{"operation":"WRITE","operationMetrics":{"num_added_files":2}}}'
    >>> added = b'{"add":{"path":"a.parquet"}}'
    >>> flaw(b"\n".join([info, added, added]), 7)
    ''
    >>> flaw(b"\n".join([info, added]), 7)
    'lost lines: it names 1 of 2 files that it added'
    >>> flaw(info[:-1], 7), flaw(b" \n", 7), flaw(b"{}", 7)
    ('is cut off', 'is empty', 'is empty')
    """
    last = content[content.rfind(b"\n", 0, -1) + 1 :]  # nothing else is copied: planning looks at every entry
    try:
        if not last.strip() or not json.loads(last):
            return "is empty"
        if b"\0" in content:
            return "is cut off"
        info = _INFO.search(content)
        return _lost(content, json.loads(info[0])["commitInfo"] or {} if info else {}, commit)
    except (ValueError, RecursionError):
        return "is cut off"


def _lost(content: bytes, info: Mapping[str, Any], commit: int) -> str:
    operation = str(info.get("operation"))
    expected = ("protocol", "metaData") if commit == 0 else ("metaData",) if operation == "ADD COLUMN" else ()
    for kind in expected:
        if not _count(content, kind):
            return f"lost lines: it has no {kind}"
    metrics: Mapping[str, Any] = info.get("operationMetrics") or {}
    added, removed = _COUNTS.get(operation, ((), ()))
    for kind, did, names in (("add", "added", added), ("remove", "removed", removed)):
        wanted = max((_number(metrics.get(name)) for name in names), default=0)
        there = _count(content, kind) if wanted else 0
        if there < wanted and not (kind == "add" and _has_all_rows(content, metrics)):
            return f"lost lines: it names {there} of {wanted} files that it {did}"
    return ""


def _has_all_rows(content: bytes, metrics: Mapping[str, Any]) -> bool:
    """Whether the files that are named have all rows: Spark may count files without rows, and names none of them."""
    if "numOutputRows" not in metrics:
        return False
    stats = [json.loads(json.loads(line)["add"].get("stats") or "{}") for line in _ADD.findall(content)]
    return sum(_number(s.get("numRecords")) for s in stats) >= _number(metrics["numOutputRows"])


def _count(content: bytes, kind: str) -> int:
    start = f'{{"{kind}"'.encode()
    return content.count(b"\n" + start) + content.startswith(start)


def _number(value: object) -> int:
    text = str(value)
    return int(text) if text.isdecimal() else 0
