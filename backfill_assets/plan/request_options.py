"""Which options say what is asked for? One declaration: the command line and Dagster's jobs offer exactly these."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Option:
    """One option. `kind` is `str`, `int`, `bool`, or `list` of texts that may be given several times."""

    name: str
    """As it is written on the command line, without the dashes."""
    kind: type[str] | type[int] | type[bool] | type[list[str]] = str
    short: str = ""
    metavar: str = ""
    help: str
    least: int | None = None
    most: int | None = None
    """Bounds of a number, both included."""

    @property
    def key(self) -> str:
        """As it is written in a configuration, and as `request_of` takes it."""
        return self.name.replace("-", "_")


REQUEST_OPTIONS = (
    Option(name="start", metavar="DAY", help="First day (or instant) of the range; default: all."),
    Option(name="end", metavar="DAY", help="Last day, included; an instant with a time is excluded."),
    Option(
        name="end-bounded", kind=bool,
        help="Leave out what goes beyond --end, as the month of a day in its middle.",
    ),
    Option(name="ignore-cron", kind=bool, help="Include the interval that is not over yet, as far as it got."),
    Option(
        name="select", kind=list, short="s", metavar="MODELS",
        help="Names; +name: and upstream, name+: and downstream.",
    ),
    Option(
        name="restate", kind=list, metavar="MODEL:DAY..DAY",
        help="Compute published days again, beside them, and what reads them; the last day is included.",
    ),
    Option(
        name="all-versions", kind=bool,
        help="With --restate: invalidate these days of versions that are not published, too.",
    ),
    Option(
        name="forward-only", metavar="DAY",
        help="Give changed models their new logic from this day on; older rows stay.",
    ),
    Option(
        name="strategy", kind=list, metavar="MODEL=WAY",
        help="full-rebuild, or dual-run: built and compared, moved by a later plan.",
    ),
    Option(
        name="expect-moved", kind=list, metavar="MODEL[.COLUMN]",
        help="It should move; if it does not, its owner has to accept that.",
    ),
    Option(
        name="expect-unmoved", kind=list, metavar="MODEL[.COLUMN]",
        help="It should not move; if it does, its owner has to accept that.",
    ),
)  # fmt: skip
"""What every request may say: those of `plan`, `apply` and `promote`."""
WHY = Option(name="why", metavar="TEXT", help="What the change is for: kept with the plan, told to all.")
"""What whoever makes a plan may say beside."""
PROMOTE = Option(name="promote", kind=bool, help="Promote afterwards if everything is green.")
SAMPLE = Option(
    name="sample", kind=int, metavar="N", least=1, most=100_000,
    help="Build N intervals of each model, then tell what the rest takes.",
)  # fmt: skip
EMPTY = Option(name="empty", kind=bool, help="Record what is missing as complete, without computing it.")
APPLY_OPTIONS = (PROMOTE, SAMPLE, EMPTY)
"""What `apply` takes beside."""
