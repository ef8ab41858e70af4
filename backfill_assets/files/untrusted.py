"""May the files that are read be a stranger's? Whoever starts the process says so, by a variable or an option."""

from __future__ import annotations

import os

UNTRUSTED = "BACKFILL_UNTRUSTED"


def is_untrusted() -> bool:
    """Whether whoever started this process says that the project's files may be a stranger's."""
    return os.environ.get(UNTRUSTED, "").strip().lower() not in ("", "0", "false", "no")
