"""`python -m backfill_assets.review HOST PORT PROJECT`: the page as a child of `backfill ui`, and gone with it."""

from __future__ import annotations

import os
import sys
import threading
from pathlib import Path

from backfill_assets.core.errors import BackfillError
from backfill_assets.review.serve import serve_review


def _end_with_parent() -> None:
    """Whoever started this holds the other end of standard input, and never writes to it."""
    sys.stdin.buffer.read()
    os._exit(0)


def main(host: str, port: str, project: str) -> int:
    """Serve until the parent is gone; the code to exit with."""
    threading.Thread(target=_end_with_parent, daemon=True).start()
    try:
        serve_review(Path(project), host=host, port=int(port))
    except BackfillError as error:
        print(f"backfill: the reviewer's page is not served: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
