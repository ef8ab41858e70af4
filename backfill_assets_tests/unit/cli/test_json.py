"""What a machine is told can be read by any: JSON has no NaN."""

from __future__ import annotations

import json

import pytest

from backfill_assets.cli.terminal import print_json


def test_numbers_that_json_has_not_are_texts(capsys: pytest.CaptureFixture[str]) -> None:
    print_json({"rows": [{"n": float("nan")}, {"n": float("-inf")}, {"n": 1.5}], "span": ("a", float("inf"))})

    def refuse(word: str) -> None:
        raise AssertionError(word)

    said = json.loads(capsys.readouterr().out, parse_constant=refuse)
    assert said == {"rows": [{"n": "NaN"}, {"n": "-Infinity"}, {"n": 1.5}], "span": ["a", "Infinity"]}
