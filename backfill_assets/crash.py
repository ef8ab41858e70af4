"""What does a person read of an error that nobody expected? A few lines, and where its report is."""

from __future__ import annotations

from collections.abc import Sequence

from backfill_assets.core.errors import BackfillError
from backfill_assets.crash_report import redacted, write_report


def crashed(error: BaseException, arguments: Sequence[str]) -> str:
    """The error in three lines; a report of it is kept beside the project's caches, or among temporary files."""
    from backfill_assets.project.settings import cache_folder, project_root

    try:
        folder = cache_folder(project_root()).parent / "crashes"
    except Exception:  # what is broken may be just that
        folder = None
    report = write_report(error, arguments, folder)
    lines = str(error).strip().splitlines()
    first = redacted(lines[0])[:300] if lines else ""
    told = f"{type(error).__name__}: {first}" if first else type(error).__name__
    kept = f"a report is in {report}" if report else "no report could be written"
    fix = "run the command again: what was recorded is kept; if it happens again, send the report to the maintainers"
    return str(BackfillError("stopped by an unexpected error", why=told, fix=f"{fix}; {kept}"))
