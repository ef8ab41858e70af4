"""Which options say what is asked for? One declaration: the command line and Dagster's jobs offer exactly these."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path


class Amount(str):
    """A number, or a share such as `1%` (`plan/entities.py`)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Option:
    """One option. `kind` is `str`, `int`, `bool`, `Amount`, `list` of texts that may be given several times, or `Path`:
    a text, which a command reads from a file and a job finds in its configuration."""

    name: str
    """As it is written on the command line, without the dashes."""
    kind: type[str] | type[Amount] | type[int] | type[float] | type[bool] | type[list[str]] | type[Path] = str
    argument: bool = False
    """Whether the command line tells it by its place."""
    required: bool = False
    choices: tuple[str, ...] = ()
    """The values that it can have, the default first; none: any."""
    short: str = ""
    metavar: str = ""
    help: str
    narrows: bool = False
    """Whether a request without it is about more: a job's empty text is an error then, not as if none were given."""
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
        help="Compute published days again, beside them, and what reads them; the last day (or hour) is included.",
    ),
    Option(
        name="where", metavar="CONDITION", narrows=True,
        help="With --restate: only rows for which this holds, as region = 'de'; the others stay what they are.",
    ),
    Option(
        name="ids", kind=Path, metavar="FILE", narrows=True,
        help="With --restate: only rows of these keys; CSV, the first line names the key's columns.",
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
    Option(
        name="expect-filled", kind=list, metavar="MODEL.COLUMN=SHARE[@DAY]",
        help="So many rows of a new column should have a value, as in 95%@2023-06-01; else its owner has to accept it.",
    ),
)  # fmt: skip
"""What every request may say: those of `plan`, `apply` and `promote`."""
WHY = Option(name="why", metavar="TEXT", help="What the change is for: kept with the plan, told to all.")
"""What whoever makes a plan may say beside."""
PROMOTE = Option(name="promote", kind=bool, help="Promote afterwards if everything is green.")
SAMPLE = Option(
    name="sample", kind=Amount, metavar="N|P%",
    help="Build N intervals of each model, then tell what the rest takes; or see --by.",
)  # fmt: skip
BY = Option(
    name="by", metavar="COLUMN",
    help="With --sample P%: compute and compare so many of this key's entities; none of it counts as built.",
)  # fmt: skip
ONLY = Option(
    name="only", kind=list, metavar="MODEL:DAY..DAY",
    help="Of the plan, build these days now, as to try again what failed; the plan stays whole.",
)  # fmt: skip
EMPTY = Option(name="empty", kind=bool, help="Record what is missing as complete, without computing it.")
NO_WAIT = Option(
    name="no-wait", kind=bool, help="End, with code 75, where it would wait for a window or a routine run."
)
OUTSIDE_WINDOWS = Option(
    name="outside-windows", metavar="REASON", help="Build at once, outside of the windows too; the evidence keeps why."
)
APPLY_OPTIONS = (PROMOTE, SAMPLE, BY, ONLY, EMPTY, NO_WAIT, OUTSIDE_WINDOWS)
"""What `apply` takes beside."""

STORED_PLAN = Option(
    name="plan", metavar="[PLAN]", argument=True, help="What a stored plan built; default: what the options say."
)

RELEASE = Option(
    name="release",
    metavar="RELEASE",
    argument=True,
    help="What to go back to; default: before the last change. `nothing`: take models that the code has no more out.",
)
MODELS = Option(name="select", kind=list, short="s", metavar="MODELS", help="These models only.")
NOW = Option(name="now", kind=bool, help="Move at once, without the newer days that the older version lacks.")
DRY_RUN = Option(
    name="dry-run", kind=bool, help="Say what would happen, and prove that the older rows can all be read."
)
WHY_BACK = Option(name="reason", help="Why; the release's evidence keeps it.")

TARGET = Option(
    name="target",
    metavar="PLAN|RELEASE",
    argument=True,
    help="Its id, or the beginning of it; default: the newest plan.",
)

RUNBOOK_OF = Option(
    name="plan", metavar="[PLAN]", argument=True, help="Its id, or the beginning of it; default: the newest plan."
)
WRITE_TO = Option(name="out", metavar="PATH", help="A folder for its files, or a file (.md) for all of it.")

APPROVED = Option(
    name="plan", metavar="PLAN", argument=True, required=True,
    help="Its id, or the beginning of it; or of a change of the rules.",
)  # fmt: skip
OWNERS = Option(name="for", kind=list, metavar="OWNER", help="Whose models; default: all you may approve for.")
GROUNDS = Option(name="reason", help="Why it may be promoted; the evidence keeps it.")
ACCEPTED = Option(
    name="accept", kind=list, metavar="FINDING=WHY",
    help="Accept a difference that was found, by its name, with a reason.",
)  # fmt: skip
CLAIMED = Option(name="by", help="Who you claim to be: the account that runs this, or a signature, has to be of them.")
STATEMENT = Option(
    name="statement", kind=Path, metavar="FILE", help="A prepared statement, signed elsewhere: with --signature."
)
SIGNATURE = Option(
    name="signature", kind=Path, metavar="FILE", help="Its signature: ssh-keygen -Y sign -n backfill-approval."
)

ACTION = Option(
    name="action", choices=("show", "change"), argument=True, help="Show them, or propose what the files say."
)
WHY_CHANGED = Option(name="reason", help="Why they are changed; the record keeps it.")

WAITING_FOR = Option(
    name="waiting-for", metavar="NAME", help="Whose approval is lacking: a name or account; empty text: anybody's."
)

ADOPTING = Option(name="model", metavar="MODEL", argument=True, required=True, help="A model that is not shown yet.")
TABLE = Option(name="table", metavar="TABLE", required=True, help="A folder, or a catalog's name: db.table.")
COPY = Option(
    name="copy", kind=bool, help="Copy its rows, once and compared: of any format, and with safe casts."
)  # fmt: skip

SIDES = Option(
    name="target", metavar="[PLAN|A..B]", argument=True,
    help="An open plan, or two sides: environments, releases, model@version. Default: the only open plan.",
)  # fmt: skip
COMPARED = Option(name="model", kind=list, short="m", metavar="MODEL", help="This model only; may be repeated.")
SLICES = Option(
    name="slice", kind=list, metavar="COLUMN", help="Also by the values of this column; may be repeated."
)  # fmt: skip
SHOWN_KEYS = Option(
    name="sample", kind=int, metavar="N", least=0, most=50,
    help="Show rows of N keys of each kind, up to 7 days each.",
)  # fmt: skip
TOLERANCE = Option(
    name="tolerance", kind=float, least=0, most=1,
    help="How far apart equal floats may be, relative; default: the model's.",
)  # fmt: skip
MOVED = Option(
    name="expect-moved", kind=list, metavar="MODEL[.COLUMN]", help="It should move; exit with 5 if it did not."
)  # fmt: skip
UNMOVED = Option(
    name="expect-unmoved", kind=list, metavar="MODEL[.COLUMN]", help="It should not move; exit with 5 if it did."
)  # fmt: skip
FILLED = Option(
    name="expect-filled", kind=list, metavar="MODEL.COLUMN=SHARE[@DAY]",
    help="So many rows of a new column should have a value, as in 95%@2023-06-01; exit with 5 if fewer do.",
)  # fmt: skip

CONSUMER = Option(
    name="consumer", metavar="CONSUMER", argument=True, required=True, help="Its name, as consumers.yml has it."
)
PINNED_TO = Option(
    name="release", metavar="RELEASE", argument=True, required=True,
    help="Its id, or a beginning or an end of it: see `backfill releases`.",
)  # fmt: skip
UNTIL = Option(name="until", metavar="DAY", required=True, help="The last day on which it is kept there.")
WHY_PINNED = Option(name="reason", help="Why; everybody who lists it sees it.")
ONLY_SAY = Option(name="dry-run", kind=bool, help="Only say what will change for it.")

REALLY = Option(name="apply", kind=bool, help="Really do it; without it nothing is changed.")
TODAY = Option(name="today", metavar="DATE", help="Confirm the date, where the janitor asks whether it is right.")

ABANDONED = Option(
    name="plan", metavar="PLAN", argument=True, required=True,
    help="Its id, or the beginning of it: see `backfill plans`.",
)  # fmt: skip
WITHDRAWN = Option(
    name="days", kind=list, metavar="MODEL:DAY..DAY", argument=True, required=True,
    help="Intervals of the code's version.",
)  # fmt: skip
WHY_WITHDRAWN = Option(name="reason", help="Why; it is kept in the ledger.")

RERUN = Option(name="check", kind=bool, help="Run their queries over an open plan's candidate.")
RERUN_PLAN = Option(
    name="plan", metavar="PLAN", help="Its id, or the beginning of it; default: the only open one."
)  # fmt: skip

BACKUP_TO = Option(
    name="target", metavar="DEST", argument=True, required=True, help="A folder that does not exist, or is empty."
)
WITH_DATA = Option(name="data", kind=bool, help="The tables of versions as well, as far as anything needs them.")

VERIFIED = Option(
    name="target", metavar="PLAN|RELEASE|FOLDER", argument=True,
    help="A plan, a release, or a packet's folder; default: the newest plan.",
)  # fmt: skip
EVERYTHING = Option(
    name="all", kind=bool, help="Instead: read all records, and every file that is shown, in full."
)  # fmt: skip

SHARED: Mapping[str, tuple[Option, ...]] = {
    "plan": (*REQUEST_OPTIONS, WHY),
    "preflight": REQUEST_OPTIONS,
    "apply": (*REQUEST_OPTIONS, WHY, *APPLY_OPTIONS),
    "promote": (STORED_PLAN, *REQUEST_OPTIONS),
    "withdraw": (WITHDRAWN, WHY_WITHDRAWN),
    "routine": (),
    "diff": (
        SIDES,
        COMPARED,
        *REQUEST_OPTIONS[:2],
        SLICES,
        SHOWN_KEYS,
        TOLERANCE,
        MOVED,
        UNMOVED,
        FILLED,
    ),
    "consumers": (RERUN, RERUN_PLAN),
    "rollback": (RELEASE, MODELS, NOW, DRY_RUN, WHY_BACK),
    "evidence": (TARGET,),
    "runbook": (RUNBOOK_OF, WRITE_TO),
    "approve": (APPROVED, OWNERS, GROUNDS, ACCEPTED, CLAIMED, STATEMENT, SIGNATURE),
    "rules": (ACTION, WHY_CHANGED),
    "verify": (VERIFIED, EVERYTHING),
    "status": (),
    "plans": (WAITING_FOR,),
    "abandon": (ABANDONED,),
    "backup": (BACKUP_TO, WITH_DATA),
    "adopt": (ADOPTING, TABLE, COPY),
    "pin": (CONSUMER, PINNED_TO, UNTIL, WHY_PINNED),
    "unpin": (CONSUMER, ONLY_SAY),
    "janitor": (REALLY, TODAY),
}
"""What each command takes that is also a job: both offer exactly these, and a terminal beside them `TERMINAL`."""
TERMINAL = ("json", "open", "key", "prepare", "markdown", "page_url", "packet_url")
"""Forms of output, and what is done with keys and files of the machine that the command runs on."""
TERMINAL_OF: Mapping[str, tuple[str, ...]] = {"adopt": ("all",)}
"""The same of single commands: drafts are files of the project."""

WITHOUT_JOB: Mapping[str, str] = {
    "import": "it writes files of a project, which is to be read by people and committed",
    "export": "it prints a script for another engine, which runs it",
    "lineage": "Dagster's pages show the lineage of columns",
    "review": "it serves a page until it is ended, which `backfill ui` does beside Dagster",
    "releases": "the asset of each view of the environment has an event a release; the job `diff` compares two",
    "warehouse": "Dagster loads no project whose warehouse is not the one that it should be",
    "migrate": "a release is changed while nothing runs",
    "restore": "a warehouse is replaced while nothing runs",
    "sql": "rows would be kept in Dagster's event log, where everybody reads them",
    "shell": "it is a prompt",
    "session": "a run has its own Spark session",
    "ui": "it starts Dagster",
    "doctor": "it is for a machine on which something does not start; `verify` reads the warehouse",
    "docs": "it prints pages of the package, which a run would keep",
    "init": "it makes a project, before Dagster can load one",
    "demo": "it makes a project, before Dagster can load one",
}
"""Why a command has no job."""
JOB_BY_ITS_CHECKS = ("watch",)
"""Commands whose job runs checks of assets."""
