"""The same random life of a warehouse with owners (`unit/promote/test_machine_approvals.py`), on real Delta tables."""

from __future__ import annotations

import shutil
import tempfile
from typing import cast

from hypothesis import HealthCheck, settings

from backfill_assets.adapters.control_delta import DeltaStore
from backfill_assets_tests.delta_tables import DeltaTables
from backfill_assets_tests.fakes import FakeTables, World
from backfill_assets_tests.unit.promote.test_machine import MODELS
from backfill_assets_tests.unit.promote.test_machine_approvals import Governed


class DeltaWarehouse(Governed):
    """Version tables and control tables are Delta, written and read by delta-rs; builds and views are stood in for."""

    folder: str

    def a_world(self) -> World:
        self.folder = tempfile.mkdtemp(prefix="warehouse-")
        tables = cast("FakeTables", DeltaTables(self.folder))
        return World(*MODELS, store=DeltaStore(self.folder), tables=tables)

    def teardown(self) -> None:
        shutil.rmtree(self.folder, ignore_errors=True)


TestDeltaWarehouse = DeltaWarehouse.TestCase
TestDeltaWarehouse.settings = settings(
    max_examples=6, stateful_step_count=20, deadline=None, suppress_health_check=list(HealthCheck)
)
