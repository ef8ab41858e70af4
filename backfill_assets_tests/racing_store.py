"""A server of S3's protocol (moto) that lets writers meet: `python -m backfill_assets_tests.racing_store PORT`.

A new object below `meet/` that is to be a commit is stored only when two ask for it, or after `MEET_FOR` seconds: both
have looked by then, and found nothing. `HOLD`, a pattern of keys, and `HOLD_FOLDER`: the first commit of such a key
waits, from the file `held` in that folder on, until there is the file `release`. Requests are carried out one after the
other, as moto itself looks whether an object is there before it stores it.
"""

from __future__ import annotations

import os
import re
import sys
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterable
from contextlib import suppress
from io import BytesIO
from pathlib import Path
from typing import Any

from moto.server import DomainDispatcherApplication, create_backend_app
from werkzeug.serving import run_simple

COMMIT = re.compile(r"/_delta_log/\d{20}\.json$")


class RacingStore:
    """The server as a WSGI application."""

    def __init__(self) -> None:
        self._inner: Callable[..., Iterable[bytes]] = DomainDispatcherApplication(create_backend_app)
        self._one, self._lock = threading.Lock(), threading.Lock()
        self._pairs = defaultdict[str, threading.Barrier](lambda: threading.Barrier(2))
        self._meet = float(os.environ.get("MEET_FOR", "20"))
        self._hold, self._folder = os.environ.get("HOLD", ""), Path(os.environ.get("HOLD_FOLDER", "."))

    def __call__(self, environ: dict[str, Any], start: Any) -> Iterable[bytes]:
        path = environ["PATH_INFO"]
        if environ["REQUEST_METHOD"] == "PUT" and COMMIT.search(path):
            with self._lock:
                pair = self._pairs[path] if "/meet/" in path else None
                held, self._hold = self._hold, "" if self._hold and re.search(self._hold, path) else self._hold
            if pair is not None:
                with suppress(threading.BrokenBarrierError):  # the other one has nothing more to write
                    pair.wait(self._meet)
            if held and not self._hold and re.search(held, path):
                self._wait()
        if length := int(environ.get("CONTENT_LENGTH") or 0):  # whoever sends it may be paused
            environ["wsgi.input"] = BytesIO(environ["wsgi.input"].read(length))
        with self._one:
            return list(self._inner(environ, start))

    def _wait(self) -> None:
        (self._folder / "held").touch()
        while not (self._folder / "release").exists():
            time.sleep(0.05)


if __name__ == "__main__":
    run_simple("127.0.0.1", int(sys.argv[1]), RacingStore(), threaded=True)
