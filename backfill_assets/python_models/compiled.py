"""Which Spark SQL does a Python model stand for? Compiled by SQLFrame in a process of its own, and remembered."""

from __future__ import annotations

import functools
import hashlib
import json
import os
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path
from tempfile import TemporaryDirectory

from backfill_assets.files.cache_files import read_private, write_private

SECONDS = 20  # for one function
BYTES = 2 << 30
"""Memory for one function."""
NO_ANSWER = "the process that takes it apart gave no answer"
"""It could not be started, was stopped, or ended over a file that it could not read."""
_START = 60  # for the worker itself: a cold import of SQLFrame on a busy machine
_HERE = Path(__file__).parent
_WORKER = _HERE / "sqlframe"
_PASSED = (
    "PATH", "LANG", "LC_ALL", "LC_CTYPE", "TZ", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "SYSTEMROOT",
    "PYTHONPYCACHEPREFIX", "PYTHONDONTWRITEBYTECODE",
)  # fmt: skip
"""The variables that the worker gets; any other may be a secret."""
_START_CODE = (
    "import sys; sys.path += {paths!r}; from backfill_assets.python_models.sqlframe.__main__ import main; main()"
)


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
    files: tuple[Path, ...] = ()
    """The project's other files that it may import: those that `digest` is of."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Compiled:
    """A function's SQL, or why it has none."""

    sql: str | None = None
    why: str = ""


def compile_functions(
    functions: Sequence[PythonFunction],
    cache: Path | None,
    failed: dict[str, str] | None = None,
    whole: dict[str, str] | None = None,
) -> Mapping[str, str | None]:
    """Each model's Spark SQL; None when SQLFrame cannot express it, or when SQL would not show all that it does.

    What the machine failed at is left out, and not remembered: `failed` gets the reason, by model. `whole` gets, of
    those without SQL, what stands in its way, with the place in their code.

    An upstream is one quoted identifier in it (`raw.orders` in backquotes); the interval is the worker's START and END.
    What is not in the folder `cache` is compiled by one start of the worker; without misses nothing is started.
    """
    found: dict[str, Compiled] = {}
    missing: dict[str, PythonFunction] = {}
    keys = {f.name: _key(f) for f in functions}
    for function in functions:
        if not all(upstream.columns for upstream in function.upstreams):
            unknown = next(u.table for u in function.upstreams if not u.columns)
            found[function.name] = Compiled(why=f"nobody knows the columns of {unknown}")
            continue
        try:
            found[function.name] = _read(cache, keys[function.name])
        except _Miss:
            missing[function.name] = function
    if missing:
        faults: dict[str, str] = {}
        for name, compiled in _compile(list(missing.values()), faults).items():
            found[name] = compiled
            _write(cache, keys[name], compiled)
        if failed is not None:
            failed.update({n: faults.get(n, NO_ANSWER) for n in missing if n not in found})
    if whole is not None:
        whole.update({name: compiled.why for name, compiled in found.items() if compiled.sql is None})
    return {function.name: found[function.name].sql for function in functions if function.name in found}


def _compile(functions: list[PythonFunction], faults: dict[str, str]) -> dict[str, Compiled]:
    """What the worker answers; `faults` gets what failed of the machine."""
    request = json.dumps({"seconds": SECONDS, "bytes": BYTES, "functions": [asdict(f) for f in functions]}, default=str)
    answers = _ask(request.encode(), _START + SECONDS * len(functions))
    compiled: dict[str, Compiled] = {}
    for line in answers.splitlines():
        with suppress(ValueError):  # the last line of a worker that was killed
            name, text, fault, why = json.loads(line)
            if fault:
                faults[name] = fault
            else:
                compiled[name] = Compiled(sql=text, why=why)
    return compiled


def _ask(request: bytes, seconds: int) -> bytes:
    """What the worker says, as far as it came. It knows no variable that is not named above, and nobody's folder."""
    # Not by -m, which looks in the working folder first: a project may have a random.py.
    code = _START_CODE.format(
        package=__package__, paths=[p for p in sys.path if "-packages" in p] + [str(_HERE.parents[1])]
    )
    with TemporaryDirectory(prefix="backfill-") as home:
        env = {name: os.environ[name] for name in _PASSED if name in os.environ}
        # The order of a set of names is the order of columns: hashes must be the same each time.
        env |= {"HOME": home, "TMPDIR": home, "PYTHONHASHSEED": "0"}
        try:
            worker = subprocess.Popen(
                [sys.executable, "-P", "-s", "-c", code],
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                cwd=home, env=env, start_new_session=True,
            )  # fmt: skip
        except OSError:
            return b""
        try:
            return worker.communicate(request, timeout=seconds)[0]
        except subprocess.TimeoutExpired as error:
            return error.stdout or b""
        finally:
            if worker.poll() is None:
                with suppress(ProcessLookupError):
                    os.killpg(worker.pid, signal.SIGKILL)
                worker.wait()
            for pipe in (worker.stdin, worker.stdout):
                if pipe:
                    pipe.close()


class _Miss(Exception):
    pass


def _key(function: PythonFunction) -> str:
    content = {
        "name": function.name,
        "digest": function.digest,
        "upstreams": [asdict(upstream) for upstream in function.upstreams],
        "versions": [version("sqlframe"), version("sqlglot"), ".".join(map(str, sys.version_info[:2]))],
        "worker": _worker_digest(),
    }
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


@functools.cache
def _worker_digest() -> str:
    return hashlib.sha256(b"".join(file.read_bytes() for file in sorted(_WORKER.glob("*.py")))).hexdigest()


def _read(cache: Path | None, key: str) -> Compiled:
    """What the cache holds for a key. Raises _Miss; a file that is not as `_write` makes it is a miss too."""
    if cache is None:
        raise _Miss
    try:
        match json.loads(read_private(cache / f"{key}.json")):
            case {"sql": str() | None as text, "why": str(why)}:
                return Compiled(sql=text, why=why)
            case _:
                raise _Miss
    except (OSError, ValueError):
        raise _Miss from None


def _write(cache: Path | None, key: str, compiled: Compiled) -> None:
    if cache is None:
        return
    with suppress(OSError):  # a folder that cannot be written costs time only
        write_private(cache / f"{key}.json", json.dumps(asdict(compiled)))
