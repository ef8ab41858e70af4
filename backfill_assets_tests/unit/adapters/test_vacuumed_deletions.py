"""A commit whose deletion vectors are gone cannot be read as it was, though all of its data files are there."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from backfill_assets.adapters.source_pins import FilePins
from backfill_assets.core.model import Source

SCHEMA = {"type": "struct", "fields": [{"name": "n", "type": "long", "nullable": True, "metadata": {}}]}
FEATURES = {"minReaderVersion": 3, "minWriterVersion": 7, "readerFeatures": ["deletionVectors"]}
VECTOR = {
    "storageType": "u",
    "pathOrInlineDv": "(*R=L*OWTGF^I00xMEWO",
    "offset": 1,
    "sizeInBytes": 78,
    "cardinality": 1,
}


def a_table(root: Path) -> Source:
    """Commit 0 has a file, commit 1 a deletion in it, which commit 2 takes back; VACUUM took what said which row."""
    log = root / "t" / "_delta_log"
    log.mkdir(parents=True)
    pq.write_table(pa.table({"n": [1, 2]}), root / "t" / "a.parquet")
    add = {"path": "a.parquet", "partitionValues": {}, "size": 400, "modificationTime": 0, "dataChange": True}
    meta = {
        "id": "0b7c1d3e-9e1d-4f3a-8f44-2f6d3c1a5b70", "format": {"provider": "parquet", "options": {}},
        "schemaString": json.dumps(SCHEMA), "partitionColumns": [], "configuration": {}, "createdTime": 0,
    }  # fmt: skip
    gone = {"path": "a.parquet", "dataChange": True, "deletionTimestamp": 1, "extendedFileMetadata": False}
    commits = [
        [{"protocol": FEATURES | {"writerFeatures": ["deletionVectors"]}}, {"metaData": meta}, {"add": add}],
        [{"remove": gone}, {"add": add | {"deletionVector": VECTOR}}],
        [{"remove": gone | {"deletionVector": VECTOR}}, {"add": add}],
    ]
    for number, actions in enumerate(commits):
        (log / f"{number:020}.json").write_text("\n".join(map(json.dumps, actions)))
    return Source(name="s", path=str(root / "t"), format="delta", time_column="n", file=root / "sources.yml")


def test_what_said_which_rows_are_deleted_is_gone(tmp_path: Path) -> None:
    source = a_table(tmp_path)
    assert FilePins().pin(source)["commit"] == 2
    assert FilePins().not_there(source, {"commit": 0}) == ""
    assert FilePins().not_there(source, {"commit": 1}) == "deletion vectors of commit 1 are gone (vacuumed)"
