"""Has a log entry all the lines that it was written with? Its first one says what the commit did, and is compared.

Delta's writers put the commit's metrics into `commitInfo`, ahead of the files that it adds and removes: an entry that
was cut at the end of a line is JSON throughout, and names fewer files than it counts.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, cast

_COUNTS = {
    "WRITE": (("numFiles", "num_added_files"), ("numRemovedFiles", "num_removed_files")),
    "MERGE": (("numTargetFilesAdded",), ("numTargetFilesRemoved",)),
    "OPTIMIZE": (("numAddedFiles", "numFilesAdded"), ("numRemovedFiles", "numFilesRemoved")),
    "CLONE": (("numFiles",), ()),
}
"""Operation → how Spark, delta-rs and adoption call the number of files that it added, and of those that it removed."""
_INFO = re.compile(rb'(?m)^\{"commitInfo".*$')


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
    content = content.rstrip()  # copied only where blanks follow: planning looks at every entry
    last = content[content.rfind(b"\n") + 1 :]
    try:
        if not last or not json.loads(last):
            return "is empty"
        if b"\0" in content:
            return "is cut off"
        info = _INFO.search(content)
        return _lost(content, _object(json.loads(info[0])["commitInfo"]) if info else {}, commit)
    except (ValueError, RecursionError):
        return "is cut off"


def _lost(content: bytes, info: Mapping[str, Any], commit: int) -> str:
    operation = str(info.get("operation"))
    expected = ("protocol", "metaData") if commit == 0 else ("metaData",) if operation == "ADD COLUMN" else ()
    for kind in expected:
        if not _count(content, (kind,), 1):
            return f"lost lines: it has no {kind}"
    metrics = _object(info.get("operationMetrics"))
    added, removed = _COUNTS.get(operation, ((), ()))
    new = ("add", "cdc") if "num_added_files" in metrics else ("add",)  # delta-rs counts files of changed rows as well
    for kinds, did, names in ((new, "added", added), (("remove",), "removed", removed)):
        wanted = max((_number(metrics.get(name)) for name in names), default=0)
        there = _count(content, kinds, wanted) if wanted else 0
        if there < wanted and not (did == "added" and _has_all_rows(content, metrics)):
            return f"lost lines: it names {there} of {wanted} files that it {did}"
    return ""


def _has_all_rows(content: bytes, metrics: Mapping[str, Any]) -> bool:
    """Whether the files that are named have all rows: Spark may count files without rows, and names none of them."""
    if "numOutputRows" not in metrics:
        return False
    stats = (_object(action.get("add")).get("stats") for action in _actions(content))
    rows = (_number(_object(json.loads(s)).get("numRecords")) for s in stats if isinstance(s, str) and s)
    return sum(rows) >= _number(metrics["numOutputRows"])


def _count(content: bytes, kinds: Sequence[str], wanted: int) -> int:
    """How many actions of these kinds there are. As Spark and delta-rs write them they begin their line; those of other
    writers are looked for only where these are too few."""
    starts = [f'{{"{kind}"'.encode() for kind in kinds]
    there = sum(content.count(b"\n" + start) + content.startswith(start) for start in starts)
    if there >= wanted:
        return there
    return sum(action.get(kind) is not None for action in _actions(content) for kind in kinds)


def _actions(content: bytes) -> Iterator[Mapping[str, Any]]:
    for line in content.splitlines():
        if line.strip():
            yield _object(json.loads(line))


def _object(value: object) -> Mapping[str, Any]:
    """A JSON object; an empty one for what is none: nothing can be told by it."""
    return cast(Mapping[str, Any], value) if isinstance(value, dict) else {}


def _number(value: object) -> int:
    text = str(value)
    return int(text) if text.isdecimal() else 0
