# ruff: noqa: E501 (tables of texts)
"""Which partitions Dagster counts, and whose they are (decisions/0032)."""

from __future__ import annotations

from backfill_assets_tests.mutations.mutation import Mutation, broken

_SENSOR, _STRANGERS, _TESTS = "defs/ledger_sensor.py", "defs/foreign_events.py", "defs/test_partition_status.py::"


def _sensor(what: str, old: str, new: str, test: str) -> Mutation:
    return broken(f"partitions: {what}", _SENSOR, old, new, _TESTS + test)


def _stranger(what: str, old: str, new: str, test: str) -> Mutation:
    return broken(f"partitions: {what}", _STRANGERS, old, new, _TESTS + test)


PARTITIONS = (
    _sensor("builds elsewhere are seen", "            context.control.ledger.revision(),\n", "", "test_what_happens_elsewhere_wakes_it"),
    _sensor("promotions elsewhere are seen", "            context.control.environments.revision(),\n", "", "test_what_happens_elsewhere_wakes_it"),
    _sensor("a reload is seen", "(project.fingerprints[n], audits_digest(m))", "(\"\", audits_digest(m))", "test_partitions_are_of_the_loaded_version"),
    _sensor("what others report to Dagster is seen", "            newest,\n        )\n        before", "        )\n        before", "test_a_partition_that_somebody_reported_by_hand_does_not_count"),
    _sensor("what nothing happened to is not looked at", "if before.get(\"of\") == revisions:", "if False:", "test_sensor_reports_what_the_command_built_once"),
    _sensor("what is untrue is wiped", "instance.wipe_assets([key])", "pass", "test_partitions_are_of_the_loaded_version"),
    _sensor("a wipe is told", "report_events(instance, [_wiped(key, version, len(untrue), len(green))])", "pass", "test_withdrawn_days_do_not_count"),
    _sensor("after a wipe all that is green is told again", "            known, told = set(), 1\n", "            told = 1\n", "test_withdrawn_days_do_not_count"),
    _sensor("after a wipe it looks again", "settled = settled and not untrue", "settled = settled or not untrue", "test_after_wiping_it_looks_again"),
    _sensor("strangers' partitions are left alone", "                return True, 0\n            instance", "                pass\n            instance", "test_what_another_code_location_materialized_is_left_alone"),
    _sensor("strangers are told of", "                self.warn(foreign)\n", "                pass\n", "test_what_another_code_location_materialized_is_left_alone"),
    _sensor("a stranger's are left alone, all else is told", "                return True, 0\n            instance", "                return False, 0\n            instance", "test_what_another_code_location_materialized_is_left_alone"),
    _sensor("an open interval is not green", "for i in (have.green - have.partial).split(model.cadence)}", "for i in have.green.split(model.cadence)}", "test_a_day_that_is_not_over_is_no_partition"),
    _sensor("an open interval is not told", "    closed = (have.green - have.partial).split(cadence)", "    closed = have.green.split(cadence)", "test_a_day_that_is_not_over_is_no_partition"),
    _sensor("of the loaded version", "if of.get(DATA_VERSION_TAG) == version)", "if of)", "test_a_version_that_is_as_complete_is_told_anew"),
    _sensor("what is known is not told twice", "for i in closed if cadence.key(i.start) not in told)", "for i in closed)", "test_sensor_reports_what_the_command_built_once"),
    _sensor("a run that goes on tells by itself", "if busy(entry.run):", "if False:", "test_sensor_waits_for_a_run_that_is_still_going_on"),
    _sensor("what a run will tell is waited for", "            settled = False\n", "            pass\n", "test_sensor_waits_for_a_run_that_is_still_going_on"),
    _sensor("a tick is bounded", "if at + len(some) < len(events) and self.late():", "if False:", "test_sensor_is_bounded_and_goes_on"),
    _sensor("models that are as they were are not looked at", "if seen.get(n) != state)", "if True)", "test_what_was_looked_at_is_not_looked_at_again"),
    _sensor("a tick ends between models", "if looked and self.late():", "if False:", "test_what_was_looked_at_is_not_looked_at_again"),
    _sensor("what is left is not called known", "for name, state in states.items() if name not in left}", "for name, state in states.items()}", "test_sensor_waits_for_a_run_that_is_still_going_on"),
    _sensor("new audits count", "(project.fingerprints[n], audits_digest(m))", "(project.fingerprints[n], \"\")", "test_audits_that_are_new_are_seen"),
    _sensor("what is untrue goes first", "            if not few:\n                return False, told\n", "", "test_what_is_untrue_goes_first"),
    _sensor("a backlog is in nobody's way", "key=lambda n: n not in seen)", "key=lambda n: n in seen)", "test_what_is_untrue_goes_first"),
    _sensor("checks of a tick that was killed", "(self._tell_checks(model, have) if lacking else 0)", "0", "test_checks_are_told_by_the_next_tick_where_one_was_killed"),
    _sensor("checks that are known are not told again", "green and not self._has_checks(model)", "green", "test_sensor_reports_what_the_command_built_once"),
    _sensor("one that cannot be looked at stops no other", "except BackfillError as error:", "except ZeroDivisionError as error:", "test_a_model_that_cannot_be_looked_at_stops_no_other"),
    broken("ledger: another one is told by its times", "state/ledger.py", "int(newest[at]), int(times[at]))", "int(newest[at]), 0)", "defs/test_partition_status.py::test_another_ledger_is_seen"),
    _sensor("a table's commits count", "            known_head(context.log, name, project.fingerprints[name]),\n", "", "test_what_somebody_writes_beside_the_ledger_is_seen"),
    _stranger("what was reported by hand is no stranger's", "or not record.run_id or", "or", "test_a_partition_that_somebody_reported_by_hand_does_not_count"),
    _stranger("ours are known by their table", "return PurePath(warehouse) in PurePath(str(uri.value)).parents", "return not uri", "test_whose_a_materialization_is"),
    _stranger("of another warehouse", "return PurePath(warehouse) in PurePath(str(uri.value)).parents", "return str(uri.value).startswith(warehouse)", "test_whose_a_materialization_is"),
    _stranger("those of early releases", 'return "version" in metadata', "return False", "test_whose_a_materialization_is"),
    _stranger("those that name no table", 'return "version" in metadata', "return True", "test_whose_a_materialization_is"),
)  # fmt: skip
