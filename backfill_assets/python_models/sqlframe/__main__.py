"""The worker: a request on stdin, a line `[name, SQL or null, what failed of the machine, why it has no SQL]` for each
function on stdout."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from backfill_assets.python_models.sqlframe.compiling import compile_function
from backfill_assets.python_models.sqlframe.machine_faults import machine_fault, reason
from backfill_assets.python_models.sqlframe.patches import mend_sqlframe
from backfill_assets.python_models.sqlframe.sandbox import MACHINE, WHOLE, Compiled, Limits, confine, wait


def main() -> None:
    with os.fdopen(os.dup(1), "w", encoding="utf-8") as answers:
        os.dup2(2, 1)  # what authors print is no answer
        request = json.load(sys.stdin)
        mend_sqlframe()
        limits = Limits(seconds=request["seconds"], bytes=request["bytes"])
        for function in request["functions"]:
            answers.write(json.dumps([function["name"], *_in_child(function, limits)]) + "\n")
            answers.flush()


def _in_child(function: Mapping[str, Any], limits: Limits) -> Compiled:
    """The answer of a child process: what one function hangs in, breaks or leaves behind is no other's concern."""
    files = {Path(p): Path(p).read_text(encoding="utf-8-sig") for p in function["files"] if Path(p).is_file()}
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        try:
            os.close(reading)
            confine(limits, keep=writing)
            text = compile_function(function, files)
            with os.fdopen(writing, "w", encoding="utf-8") as file:
                file.write(text)
            os._exit(0)
        except BaseException as error:
            fault = machine_fault(error, {Path(function["path"]), *files}, limits.bytes)
            why = fault or reason(error, Path(function["root"]), {Path(function["path"]), *files})
            os.write(writing, why.encode("utf-8", "replace"))
            os._exit(MACHINE if fault else WHOLE)
        finally:
            os._exit(1)
    os.close(writing)
    return wait(child, reading, limits)


if __name__ == "__main__":
    main()
