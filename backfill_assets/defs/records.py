"""How are records looked at and kept safe in Dagster? Jobs with the same effect as `status`, `verify` and `backup`."""

from __future__ import annotations

from pathlib import Path

import dagster as dg

from backfill_assets.app.status import read_status
from backfill_assets.app.verify import verify_packet
from backfill_assets.app.warehouse import back_up_warehouse, check_warehouse
from backfill_assets.defs.job import Launched, job


@job("status", step="look_at_status", description="Show what is built, shown, running and missing. Changes nothing.")
def status_job(run: Launched) -> None:
    """Says where each model stands; the step's output has all of it."""
    found = read_status(run.context)
    for m in found.models:
        have, want = m.green.count(m.cadence), m.expected.count(m.cadence)
        shown = f"shows {m.shown_version}, {m.shown}" if m.shown_version else "shows nothing of it"
        run.log.info(f"{m.model} {m.version}: {have} of {want} are green; {found.environment} {shown}")
    for fault in found.faults:
        run.log.warning(str(fault))
    run.step.add_output_metadata({"status": dg.MetadataValue.json(found.to_json())})


@job("verify", step="verify_records", description="Check that a packet, or everything that is kept, is unchanged.")
def verify_job(run: Launched) -> None:
    """Compares files with their hashes: a packet's, or (`all`) all records and every file that is shown. Fails when
    anything is wrong."""
    context = run.context
    if run.said.get("all"):
        whole = check_warehouse(context, every_file=True)
        problems, looked = whole.problems, f"{whole.records} records and {whole.files} files"
    else:
        found = verify_packet(run.said.get("target"), lambda: context)
        problems = (*found.problems, *found.removed)
        looked = f"{found.kind} {found.plan}: {found.files} files of its packet"
    if problems:
        raise dg.Failure(description="\n".join(problems), allow_retries=False)
    run.log.info(f"{looked} were read: nothing is wrong")


@job("backup", step="back_up", description="Copy the warehouse's records, while others work, into a new folder.")
def backup_job(run: Launched) -> None:
    """Copies the records, and with `data` the tables, into a folder of the machine that runs this."""
    target = Path(run.said.get("target", ""))
    done = back_up_warehouse(run.context.project.root, target, data=run.said.get("data", False))
    run.log.info(f"{target}: {len(done.manifest.files)} files, {done.manifest.bytes} bytes")
    for line in done.missing:
        run.log.warning(f"missing, and in no backup: {line}")
