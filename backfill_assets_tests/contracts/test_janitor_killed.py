"""The janitor's process is killed between two files that it deletes: prod is whole, the next janitor finishes."""

from __future__ import annotations

import signal
import subprocess
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

import backfill_assets
from backfill_assets.app.context import Context
from backfill_assets.app.janitor import find_garbage, remove_garbage
from backfill_assets.core.errors import PromotionError
from backfill_assets.promote.promote import promote
from backfill_assets_tests.projects import clean_environment, release_by_hand, script, small_project

KILLED = """
import os, signal, sys
from backfill_assets.adapters import table_storage
from backfill_assets.app.context import Context
from backfill_assets.app.janitor import remove_garbage

real, left = table_storage.arrow_path, [int(sys.argv[2])]

class Mortal:
    def __init__(self, system):
        self.system = system
    def __getattr__(self, name):
        if name.startswith("delete"):
            left[0] -= 1
            if left[0] < 0:
                os.kill(os.getpid(), signal.SIGKILL)
        return getattr(self.system, name)

def mortal(location):
    system, path = real(location)
    return Mortal(system), path

place = Context.open(sys.argv[1])
table_storage.arrow_path = lambda location: real(location) if location == place.warehouse else mortal(location)
remove_garbage(place, today=place.now().date())
"""


@pytest.mark.parametrize("deleted", [0, 1, 2])
def test_killed_while_it_deletes(tmp_path: Path, deleted: int) -> None:
    """Before its first file, in the log, before the folder: nothing can be pointed at what is left of the table."""
    root = small_project(tmp_path, days=2)
    for version in ("one", "two"):
        release_by_hand(Context.open(root), version)
    settings = (root / "backfill.yml").read_text()
    clock = f"{datetime.now(UTC) + timedelta(days=31):%Y-%m-%d}"
    (root / "backfill.yml").write_text(settings.replace("2024-01-03", clock))
    command = script(KILLED, root, str(deleted))
    done = subprocess.run(command, env=clean_environment(), capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == -signal.SIGKILL, done.stderr

    place = Context.open(root)
    folder = Path(place.warehouse) / "daily"
    assert (folder / "one").exists()
    assert backfill_assets.read("daily", project=root).num_rows == 2
    [first, _] = place.control.releases.all("prod")
    assert place.control.environments.read("prod").marked_for_deletion == {("daily", "one")}
    pointer = first.moves[0].after
    assert pointer is not None
    with pytest.raises(PromotionError, match="the janitor removes it"):
        promote(place.control.environments, place.control.environments.read("prod"), [pointer], None)

    assert [r.version for r in find_garbage(place).rounds.unfinished] == ["one"]
    swept = remove_garbage(place, today=place.now().date()).swept
    assert [r.version for r in swept.removed] == ["one"] and not (folder / "one").exists()
    assert place.control.environments.read("prod").marked_for_deletion == frozenset()
    assert backfill_assets.read("daily", project=root).num_rows == 2
