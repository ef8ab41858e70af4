"""Is this machine and this project all right? One check after the other, each with its remedy."""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

from rich.text import Text

from backfill_assets.cli.terminal import out
from backfill_assets.core.errors import BackfillError
from backfill_assets.files.untrusted import is_untrusted
from backfill_assets.plan.faulty import refuse_faulty
from backfill_assets.plan.stages import Request


@dataclass(frozen=True, slots=True, kw_only=True)
class DoctorCheck:
    """One thing looked at: what was found, or what is wrong and how to mend it. `warns`: nothing fails for it yet."""

    name: str
    ok: bool
    found: str
    warns: bool = False

    def to_json(self) -> dict[str, object]:
        """As plain values."""
        return {"check": self.name, "ok": self.ok, "found": self.found, **({"warns": True} if self.warns else {})}


def examine(root: Path) -> list[DoctorCheck]:
    """Look at everything; a check that fails does not stop the others."""
    from backfill_assets.adapters.machine import (
        check_java,
        check_room,
        check_versioned,
        cluster_of,
        conf_dir,
        delta_jars,
        server_of,
        session_conf,
        spark_conf,
    )
    from backfill_assets.app.context import Context
    from backfill_assets.app.warehouse import (
        check_tables,
        look_at_rights,
        probe_cluster,
        probe_server,
        probe_store,
        reach_sources,
    )
    from backfill_assets.app.writers import read_writers
    from backfill_assets.defs.dagster_home import ensure_home
    from backfill_assets.project.object_store import is_s3
    from backfill_assets.project.settings import load_settings
    from backfill_assets.project.source_places import source_places
    from backfill_assets.promote.interrupted_pins import interrupted_pins

    def warehouse() -> str:
        return load_settings(root).warehouse

    def in_bucket() -> bool:
        with suppress(BackfillError):
            return is_s3(warehouse())
        return False

    def on_server() -> bool:
        with suppress(BackfillError):
            return server_of(spark_conf(root, load_settings(root))) is not None
        return False

    def on_cluster() -> bool:
        with suppress(BackfillError):
            return cluster_of(spark_conf(root, load_settings(root))) is not None
        return False

    in_buckets = [place for place in source_places(root) if is_s3(place)]

    def conf() -> Path:
        try:
            settings = load_settings(root)
        except BackfillError:  # another line tells of it
            return conf_dir(root)
        check_versioned(folder := session_conf(root, settings), settings)
        return folder

    def state() -> str:
        context = Context.open(root)
        entries = context.control.ledger.entries()
        shown = context.control.environments.read(context.environment)
        under_way = f"; promotion {shown.promotion.release} is not finished" if shown.promotion else ""
        pins = interrupted_pins(context.control, context.environment, now=datetime.now(UTC))
        begun = "".join(f"; {pin.consumer} {pin.what} ({pin.remedy})" for pin in pins)
        writers = "".join(f"; {writer}" for writer in read_writers(context))
        return (
            f"{len(entries)} ledger entries, {shown.name} shows {len(shown.pointers)} models{under_way}{begun}{writers}"
        )

    def project() -> str:
        loaded = Context.open(root).project
        refuse_faulty(loaded, Request())
        return (
            f"{len(loaded.models)} models, {len(loaded.sources)} sources, {len(loaded.consumers)} consumers in {root}"
        )

    remote = on_server()
    return [
        DoctorCheck(name="python", ok=sys.version_info >= (3, 11), found=sys.version.split()[0]),
        *([] if remote else [_check("java", lambda: f"Java {check_java()}")]),
        _check("spark-conf", lambda: str(conf())),
        _check("spark server", lambda: probe_server(Context.open(root)))
        if remote
        else _check("delta jars", lambda: f"{len(delta_jars(conf()))} jars at hand"),
        *([_check("executors", lambda: probe_cluster(Context.open(root)))] if on_cluster() and not remote else []),
        _check("object store", lambda: probe_store(Context.open(root)))
        if in_bucket()
        else _check("disk", lambda: f"{check_room(warehouse()) // 2**20:,} MiB free for {warehouse()}"),
        *([] if in_bucket() else [_check("rights", lambda: look_at_rights(root))]),
        *([_check("sources in S3", lambda: reach_sources(in_buckets))] if in_buckets else []),
        _check("project", project),
        _check("state", state),
        _check_approvals(root),
        _check("tables", lambda: f"the logs of {check_tables(Context.open(root))} tables are whole"),
        *([] if is_untrusted() else [_check("dagster home", lambda: str(ensure_home(root)))]),
    ]


def print_checks(checks: list[DoctorCheck]) -> None:
    """The checks for a person."""
    console = out()
    for check in checks:
        mark = Text("ok    ", style="green") if check.ok else Text("wrong ", style="bold red")
        mark = Text("warn  ", style="yellow") if check.warns else mark
        console.print(mark + Text(f"{check.name:<13}", style="bold") + Text(check.found.replace("\n", "\n      ")))


def _check_approvals(root: Path) -> DoctorCheck:
    """Whether somebody can approve for each owner."""
    from backfill_assets.app.context import Context
    from backfill_assets.promote.unspoken_owners import unspoken_words

    check = _check("approvals", lambda: "; ".join(unspoken_words(Context.open(root).rules())))
    if not check.found:
        return replace(check, found="somebody can approve for each owner")
    return replace(check, warns=check.ok)


def _check(name: str, look: Callable[[], str]) -> DoctorCheck:
    try:
        return DoctorCheck(name=name, ok=True, found=look())
    except BackfillError as error:
        return DoctorCheck(name=name, ok=False, found=str(error))
