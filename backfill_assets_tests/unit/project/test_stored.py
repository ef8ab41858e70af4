"""Does a stored definition say what the model said, also one that an earlier release stored?"""

from __future__ import annotations

import json
from dataclasses import replace

from backfill_assets.core.model import TOLERANCE, UNKNOWN
from backfill_assets.project.stored import declared_otherwise, from_definition, to_definition
from backfill_assets_tests.fakes import a_model, a_project


def test_what_a_diff_needs_is_stored() -> None:
    """Slices, masks and tolerance come back; a record without them has none."""
    model = a_model("orders", "raw", slices=("channel",), mask=("email",), tolerance=0.5, audits=())
    stored = json.loads(json.dumps(to_definition(model)))
    assert from_definition("orders", "1", stored) == model
    for name in ("slices", "mask", "tolerance"):
        del stored[name]
    old = from_definition("orders", "1", stored)
    assert (old.slices, old.mask, old.tolerance) == ((), (), TOLERANCE)


def test_an_option_that_is_written_otherwise_is_the_same() -> None:
    """`true` and `"true"` are one option to Spark; another value is none."""
    model = a_model("orders", "raw")
    project = a_project(model)

    def why(option: object) -> str:
        entry = json.dumps({"options": {"header": option}})
        sources = {name: replace(source, declared=entry) for name, source in project.sources.items()}
        then = {"project": {"sources": {"raw": json.dumps({"options": {"header": True}})}, "spark": {}}}
        return declared_otherwise(replace(project, sources=sources), model, then, UNKNOWN)

    assert (why(True), why("true"), why("false") != "", why(False) != "") == ("", "", True, True)


def test_a_bucket_is_one_place_by_either_name() -> None:
    """`s3a://` is what Hadoop calls `s3://`; another key is another place."""
    model = a_model("orders", "raw")
    project = a_project(model)

    def why(path: str) -> str:
        sources = {n: replace(s, declared=json.dumps({"path": path})) for n, s in project.sources.items()}
        then = {"project": {"sources": {"raw": json.dumps({"path": "s3://lake/events"})}, "spark": {}}}
        return declared_otherwise(replace(project, sources=sources), model, then, UNKNOWN)

    assert (why("s3a://lake/events/"), why("s3://lake/other") != "") == ("", True)
