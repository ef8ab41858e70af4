"""Which Spark SQL does a Python model stand for? Compiled by SQLFrame in a process of its own, and remembered."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path
from tempfile import NamedTemporaryFile

WORKER = "backfill_assets.snapshots.sqlframe_worker"
SECONDS = 20  # for one function
_START = 60  # for the worker itself: a cold import of SQLFrame on a busy machine
_HERE = Path(__file__).parent


@dataclass(frozen=True, slots=True, kw_only=True)
class PythonUpstream:
    """A DataFrame that a function takes. `columns` are names and Spark types; none at all: nobody knows them."""

    parameter: str
    table: str
    columns: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class PythonFunction:
    """A model's function. `digest` must change with the text of its file and of every helper file that it imports."""

    name: str
    path: Path
    code: str
    root: Path
    digest: str
    upstreams: tuple[PythonUpstream, ...]


def compile_functions(functions: Sequence[PythonFunction], cache: Path | None) -> Mapping[str, str | None]:
    """Each model's Spark SQL; None when SQLFrame cannot express it, or when SQL would not show all that it does.

    What the worker gave no answer for is left out.

    An upstream is one quoted identifier in it (`raw.orders` in backquotes); the interval is the worker's START and END.
    What is not in the folder `cache` is compiled by one start of the worker; without misses nothing is started.
    """
    found: dict[str, str | None] = {}
    missing: dict[str, PythonFunction] = {}
    keys = {f.name: _key(f) for f in functions}
    for function in functions:
        if not all(upstream.columns for upstream in function.upstreams):
            found[function.name] = None
            continue
        try:
            found[function.name] = _read(cache, keys[function.name])
        except _Miss:
            missing[function.name] = function
    if missing:
        for name, text in _compile(list(missing.values())).items():
            found[name] = text
            _write(cache, keys[name], text)
    # What the worker did not answer to (it was stopped) is not remembered: the machine may have been the reason.
    return {function.name: found[function.name] for function in functions if function.name in found}


def _compile(functions: list[PythonFunction]) -> dict[str, str | None]:
    request = json.dumps({"seconds": SECONDS, "functions": [asdict(f) for f in functions]}, default=str)
    try:
        answers = subprocess.run(
            [sys.executable, "-m", WORKER],
            input=request.encode(),
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            timeout=_START + SECONDS * len(functions),
            cwd=_HERE.parents[1],  # -m looks here first, and a project may have a random.py
            env=os.environ | {"PYTHONHASHSEED": "0"},  # the order of a set of names is the order of columns
            check=False,
        ).stdout
    except subprocess.TimeoutExpired as error:
        answers = error.stdout or b""
    except OSError:
        answers = b""
    compiled: dict[str, str | None] = {}
    for line in answers.splitlines():
        with suppress(ValueError):  # the last line of a worker that was killed
            name, text = json.loads(line)
            compiled[name] = text
    return compiled


class _Miss(Exception):
    pass


def _key(function: PythonFunction) -> str:
    content = {
        "name": function.name,
        "digest": function.digest,
        "upstreams": [asdict(upstream) for upstream in function.upstreams],
        "versions": [version("sqlframe"), version("sqlglot"), ".".join(map(str, sys.version_info[:2]))],
        "worker": hashlib.sha256((_HERE / "sqlframe_worker.py").read_bytes()).hexdigest(),
    }
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


def _read(cache: Path | None, key: str) -> str | None:
    """What the cache holds for a key. Raises _Miss; a file that is not as `_write` makes it is a miss too."""
    if cache is None:
        raise _Miss
    try:
        match json.loads((cache / f"{key}.json").read_text(encoding="utf-8")):
            case {"sql": str() | None as text}:
                return text
            case _:
                raise _Miss
    except (OSError, ValueError):
        raise _Miss from None


def _write(cache: Path | None, key: str, text: str | None) -> None:
    if cache is None:
        return
    with suppress(OSError):  # a folder that cannot be written costs time only
        cache.mkdir(parents=True, exist_ok=True)
        with NamedTemporaryFile("w", dir=cache, suffix=".tmp", encoding="utf-8", delete=False) as file:
            json.dump({"sql": text}, file)
        Path(file.name).replace(cache / f"{key}.json")
