# ruff: noqa: E501 (tables of texts)
"""Rollbacks, the janitor, changes of the rules, who counts, what routine runs leave alone, and evidence."""

from __future__ import annotations

from backfill_assets_tests.mutations.mutation import broken

ROLLBACK = (
    broken("views: a cutover fits what altering takes", "promote/promote.py", "max(spare * 2, took * 1.5)", "spare * 2", "promote/test_promote.py::test_a_cutover_fits_what_altering_takes"),
    broken("views: the commit is well before the cutover", "promote/promote.py", "raise _LateError\n\n        with", "pass\n\n        with", "promote/test_promote.py::test_a_commit_that_would_come_after_the_cutover_waits_for_a_later_one"),
    broken("a rollback goes to before the last change", "promote/rollback_target.py", "not last.settling and any(not m.growth and (not models", "any((not models", "promote/test_rollback.py"),
    broken("a rollback that is run again", "promote/rollback_target.py", "done = back if release is None else None", "done = None", "promote/test_rollback.py::test_back_and_forth"),
    broken("a rollback that is run again is not carried out", "app/rollback.py", "    if ahead.done:\n", "    if False:\n", "promote/test_built_anew.py::test_it_is_rolled_back_once"),
    broken("a rollback of some models is not all of it", "promote/rollback.py", "            raise _in_part(", "            _in_part(", "promote/test_rollback.py::test_a_rollback_of_some_models"),
    broken("undoing a rollback is no rollback to run again", "promote/rollback_target.py", "return None if undoes else change", "return change", "promote/test_rollback.py::test_back_and_forth"),
    broken("undoing a rollback leaves what settled", "promote/rollback_target.py", "chosen=chosen, exact=bool(chosen), done=done)", "chosen=chosen, exact=exact, done=done)", "promote/test_rollback.py::test_what_routine_runs_settled_stays"),
    broken("what a restatement replaced is not held back", "app/watch.py", "- seen.get((name, version), NOTHING)", "- NOTHING", "promote/test_built_anew.py::test_what_a_restatement_replaced_is_not_held_back"),
    broken("a lost table is not made anew", "build/version_tables.py", "    if head < 0:\n", "    if False:\n", "build/test_lost_tables.py"),
    broken("what takes a lost table's place is read alone", "build/version_tables.py", "if patch and not patch.below", "if False and not patch.below", "build/test_lost_tables.py::test_other_rows_take_its_place"),
    broken("a lost table may be replaced as a whole", "contracts/preflight.py", "blocks=bool(left))", "blocks=True)", "contracts/test_preflight.py::test_no_way_back"),
    broken("windows follow files that do not say their days", "watch/late.py", "not (vague_is_all and _none_went(changes))", "True", "watch/test_late_files.py"),
    broken("files that went are no rows that came", "watch/late.py", "(vague_is_all and _none_went(changes))", "vague_is_all", "watch/test_late_files.py"),
    broken("rows that were written again are no growth", "state/releases.py", "return self.compaction or (not self.changed and grown(self.before, self.after))", "return self.compaction or grown(self.before, self.after)", "state/test_releases.py"),
    broken("other tables are no growth", "state/releases.py", "        and not elsewhere(before, after)\n", "", "state/test_releases.py"),
    broken("files that cannot be read forbid a rollback", "promote/rollback_run.py", "hard = [*found.obstacles, *unreadable(seen)]", "hard = [*found.obstacles]", "promote/test_rollback.py"),
    broken("obstacles forbid a rollback, also at once", "promote/rollback_run.py", "hard = [*found.obstacles, *unreadable(seen)]", "hard = [*unreadable(seen)]", "promote/test_rollback.py"),
    broken("losses forbid a rollback, but at once", "promote/rollback_run.py", "[*hard, *found.losses, *doubtful(", "[*hard, *doubtful(", "promote/test_rollback.py"),
    broken("what came since is read from where it was", "promote/rollback.py", "*_redeclared(steps, as_it_was), ", "", "promote/test_rollback.py::test_what_came_since_is_not_read_from_another_place"),
    broken("rows that nobody vouches for forbid a rollback, but at once", "promote/rollback_run.py", "*found.losses, *doubtful([p for p in seen if not p.broken])]", "*found.losses]", "promote/test_rollback.py"),
    broken("what is lacking is built first", "promote/rollback_run.py", "ready = bool(found.steps) and not obstacles and (at_once or not found.lacking)", "ready = bool(found.steps) and not obstacles", "promote/test_rollback.py"),
    broken("a rollback is of what is shown at its commit", "promote/rollback_run.py", "if facts.environment.pointers != found.environment.pointers:", "if False:", "promote/test_release_grounds.py"),
    broken("intervals that came since are built too", "promote/rollback_run.py", "    if found.lacking and not at_once:\n        lacking = ", "    if False:\n        lacking = ", "promote/test_release_grounds.py"),
    broken("what the janitor removed cannot be gone back to", "promote/rollback.py", "if (step.model, version) in gone\n", "if not step.model\n", "promote/test_janitor.py"),
    broken("models that belong together go back together", "promote/rollback.py", "found = mismatches(project, seen, way.after.versions, versions, earlier, remedy=lambda _: together)", "found = list[Obstacle]()", "promote/test_rollback.py"),
    broken("a restatement goes back with its readers", "promote/rollback.py", "if corrected and other.model not in told and (why := _belong", "if not step.model and (why := _belong", "promote/test_rollback.py"),
    broken("a model that consumers read does not go silently", "promote/rollback.py", ", *_consumers(project, rules, steps)]", "]", "promote/test_rollback.py"),
    broken("days that came since are kept", "promote/rollback_step.py", "newer = (shown.covers - older.covers) if shown else NOTHING", "newer = NOTHING", "promote/test_rollback.py"),
    broken("faults: what an author edited", "plan/faulty.py", "        if not changed or any(", "        if False and any(", "project/test_faults.py::test_what_an_author_edited_is_the_author_s"),
    broken("faults: plans are refused", "plan/faulty.py", "    if not project.faults:\n", "    if True:\n", "project/test_faults.py::test_plans_of_it_are_refused_and_of_others_are_not"),
    broken("faults: columns that nobody can tell", "plan/published.py", "    if project.faults and (unknown", "    if False and (unknown", "project/test_faults.py::test_columns_that_nobody_can_tell_hold_back_what_reads_them"),
    broken("faults: masks", "app/context.py", "if loaded.faults else loaded", "if False else loaded", "project/test_faults.py::test_nothing_masked_is_shown"),
    broken("faults: a source that is away", "plan/away.py", "**project.redeclared, **stuck}", "**project.redeclared}", "project/test_faults.py::test_a_routine_run_goes_on_where_a_source_is_away"),
    broken("faults: what reads an absent source waits", "plan/plan.py", "        away = source_away(model, facts)\n", "        away = ''\n", "project/test_faults.py"),
    broken("faults: older logic whose source is away stays", "plan/plan.py", "if name not in {*away, *reach", "if name not in {*reach", "plan/test_older_logic.py::test_what_cannot_be_read_now_waits"),
    broken("faults: a damaged log of a source", "watch/watch.py", "            return SourceHistory(unwatched=error.why or error.what)", "            raise", "project/test_faults.py"),
    broken("faults: where all waits it is refused", "plan/away.py", "    if waits and not plan.stages:\n", "    if False:\n", "project/test_faults.py"),
    broken("faults: what only an audit looks up", "project/faults.py", "(*(u.name for u in linked.upstreams[draft.name]), *audited)", "u.name for u in linked.upstreams[draft.name]", "project/test_faults.py::test_a_source_that_an_audit_looks_up_is_away"),
    broken("faults: versions stay those that were built", "app/context.py", "            if loaded.faults:\n", "            if False:\n", "project/test_faults.py::test_versions_stay_those_that_were_built"),
    broken("faults: a run has one look", "defs/runs.py", "            if name in self._away:\n", "            if False:\n", "project/test_faults.py"),
    broken("faults: nothing of it is materialized", "defs/range_plans.py", "    refuse_faulty(context.project, Request(select=(model.name,)))\n", "", "project/test_faults.py::test_what_cannot_be_computed_is_not_materialized"),
    broken("faults: what is computed again is whole", "promote/cases.py", "if w.ready or w.patched or", "if w.ready or", "project/test_faults.py"),
    broken("faults: what waits holds up no others", "promote/cases.py", "if w.ready or w.patched or w.model not in waits", "if True", "project/test_faults.py"),
    broken("faults: in a run of Dagster", "defs/runs.py", "    def __contains__(self, name: object) -> bool:\n        return name in self._looked()\n", "", "project/test_faults.py"),
    broken("late: provisional days of a stable key", "watch/late.py", "if any(a.kind == STABLE_KEY for a in model.audits) else NOTHING", "if False else NOTHING", "watch/test_late_delta.py::test_provisional_days_of_a_stable_key"),
    broken("faults: what is complete is compared beside what waits", "app/apply.py", "    if not built.all_green:\n", "    if not built.complete:\n", "project/test_faults.py"),
    broken("promises: a signal that another thread gets", "build/apply.py", "wait(running, timeout=WAKES,", "wait(running,", "build/test_apply.py::test_an_interrupt_stops_every_model_and_keeps_what_is_done"),
    broken("promises: a declared type and the query", "project/outputs.py", "    if same_type(declared, given):\n", "    if True:\n", "project/test_problems.py"),
    broken("promises: a declared type and the rows", "adapters/version_table.py", "            _check_promised(job.model, schema)\n", "            pass\n", "audits/test_missing_column.py::test_a_type_that_is_not_the_declared_one"),
    broken("promises: a table of before", "plan/warnings.py", "            if not same_type(type_, declared):\n", "            if False:\n", "plan/test_plan.py::test_a_type_that_is_not_the_declared_one_is_told"),
    broken("promises: settings of the folder", "adapters/session.py", "    check_versioned(folder, settings)\n    if server_of", "    if server_of", "adapters/test_versioned_settings.py::test_no_session_is_opened"),
    broken("promises: settings that the project has", "project/spark_settings.py", "if name not in own and name", "if name", "adapters/test_versioned_settings.py::test_what_versions_know_is_fine"),
    broken("promises: settings of a server", "adapters/server.py", "{**SPARKS_OWN, **settings_that_count(wanted)}", "settings_that_count(wanted)", "adapters/test_server.py::test_a_server_that_has_what_nobody_here_names"),
    broken("promises: a file is the one that counts", "adapters/model_code.py", "        anchored(tree, Path(path), self._root)\n", "", "adapters/test_model_code.py::test_a_file_that_is_named_is_the_one_that_counts"),
    broken("promises: a name of another column", "adapters/source_changes.py", "        if number in renamed:\n", "        if False:\n", "watch/test_late_delta.py::test_a_name_that_is_of_another_column"),
    broken("promises: what was dropped before", "adapters/source_changes.py", "        names |= now\n", "        names = now\n", "watch/test_late_delta.py::test_a_name_that_is_of_another_column"),
    broken("promises: a record is read as it is", "project/reading.py", "None if recorded else settings.spark", "settings.spark", "project/test_declared_types.py::test_a_record_is_read_as_it_is"),
    broken("promises: settings by which queries mean something else", "project/all_columns.py", "types = spark is not None and read_as_usual(own)", "types = spark is not None", "project/test_declared_types.py::test_settings_by_which_it_gives_something_else"),
    broken("promises: files that are written anew", "adapters/source_changes.py", "        if mapped and (", "        if (", "watch/test_late_delta.py::test_a_name_that_is_of_another_column"),
    broken("promises: days that the plan is about", "evidence/gather.py", " for part in Ranges((interval,)) & within)", " for part in Ranges((interval,)))", "evidence/test_red_days.py::test_what_failed_in_rows_that_are_gone"),
    broken("promises: a renamed upstream by its name of then", "build/text_check.py", "        if now.get(name) != version and version in called", "        if False", "build/test_text_check.py"),
    broken("promises: a table by its own name", "build/recheck.py", "seen(groups, bench.log, model.name, version, pointers.get(model.name),", "seen(groups, bench.log, each, version, pointers.get(each),", "build/test_text_check.py"),
    broken("promises: nothing of sources without rows", "plan/bounds.py", "            found = _between(model, model.start, model.start, now)\n", "            pass\n", "plan/test_bounds.py"),
    broken("promises: deletion vectors are there", "adapters/source_pins.py", 'return "File not found" in str(error)', "return False", "adapters/test_vacuumed_deletions.py"),
    broken("promises: the first local day is whole", "project/whole_intervals.py", "upstream.calendar.seen_from(model.calendar, interval) if upstream else None", "interval if upstream else None", "project/test_whole_intervals.py"),
    broken("promises: the source without rows is named", "watch/freshness.py", "    if empty := _without_rows(look, bound, model.name, lacking):\n", "    if empty := dict[str, datetime]():\n", "watch/test_watch.py"),
    broken("promises: what Spark's configuration refuses comes next", "app/next_step.py", "    if unbuildable and following.step in (Step.APPLY, Step.RESTATE):\n", "    if False:\n", "adapters/test_versioned_settings.py"),
    broken("promises: a refused day is red", "evidence/gather.py", "(*batches, *(() if mine else _refused(entries, have.refused, target.intervals)))", "batches", "evidence/test_red_days.py"),
)  # fmt: skip

SWEEPING = (
    broken("the janitor keeps what is shown", "promote/reachable.py", 'todo += _pointed(environment.pointers.values(), f"{environment.name} shows it")', "pass", "promote/test_janitor.py"),
    broken("the janitor keeps what open plans build", "promote/reachable.py", "        if plan.live:\n", "        if False:\n", "promote/test_janitor.py"),
    broken("the janitor keeps what a table was built from", "promote/reachable.py", 'todo += [(up, f"{table[0]} {table[1]} was built from it") for up in built_from(versions[table])]', "pass", "promote/test_janitor.py"),
    broken("the janitor keeps what one can go back to", "promote/janitor.py", "recent = [r for r in control.releases.everywhere() if r.at >= since]", "recent = list[Release]()", "promote/test_janitor.py"),
    broken("the janitor keeps what a batch writes to", "promote/janitor.py", "if batch not in ended and now - e.at < RUNS_FOR", "if not batch", "promote/test_janitor.py"),
    broken("the janitor waits for the retention", "promote/janitor.py", "elif (until := used[table] + retention) > now:", "elif (until := used[table]) > now:", "promote/test_janitor.py"),
    broken("what nobody knows is left alone", "promote/janitor.py", "        elif table not in used:\n            unknown.append(stored)\n", "        elif table not in used:\n            goes.append(Goes(table=stored, why='', since=now))\n", "promote/test_janitor.py"),
    broken("what is needed by now is pardoned", "promote/janitor.py", "removed = [r for r in begun if r.table not in needed] +", "removed = begun +", "promote/test_janitor.py"),
    broken("an interrupted removal is finished", "promote/janitor.py", " + control.removals.take_over(found.unfinished)", "", "promote/test_janitor.py"),
    broken("another janitor at work is left alone", "promote/janitor.py", "if not r.done and not r.owned(now=real)", "if not r.done", "promote/test_janitor.py"),
    broken("who points first keeps the table", "promote/janitor.py", "mark_for_deletion(doomed, revision=found.revision, by=by)", "mark_for_deletion(doomed, revision=control.environments.revision(), by=by)", "promote/test_janitor.py"),
    broken("a clock that jumped is not believed", "promote/clock.py", "if newest is None or newest - BEHIND <= now < newest + retention:", "if newest or not newest:", "promote/test_clock.py"),
    broken("a confirmed date is the clock's", "promote/clock.py", "if abs((now.date() - today).days) > 1:", "if False:", "promote/test_clock.py"),
)  # fmt: skip

RULES_CHANGE = (
    broken("rules: recorded ones and not the files'", "plan/facts.py", "return self.rules.effective if self.rules else declared_rules(project)", "return declared_rules(project)", "promote/test_release_grounds.py", "promote/test_machine_oracle.py::test_the_author_edits_the_files"),
    broken("rules: in force are the newest recorded", "state/rules.py", "    if current is None:\n", "    if current is None or current:\n", "promote/test_rules_change.py"),
    broken("rules: what only files require is required as well", "state/rules.py", "required = self.rules.approvals.required or self.edited.approvals.required", "required = self.rules.approvals.required", "promote/test_rules_change.py"),
    broken("rules: a change asks those whom it touches", "promote/rules_change.py", "    if not rules.approvals.required:\n        return ()", "    if rules or wanted:\n        return ()", "promote/test_rules_change.py"),
    broken("rules: general ones touch everybody", "promote/rules_change.py", "if any(getattr(rules.approvals, n) != getattr(wanted.approvals, n) for n in GENERAL):", "if False:", "promote/test_rules_change.py"),
    broken("rules: a pattern of signers touches everybody", "promote/rules_change.py", 'if any(mark in name for name in names for mark in "*?!"):', "if False:", "promote/test_rules_change.py"),
    broken("rules: who may speak for an owner touches the owner", "promote/rules_change.py", "            found.add(owner)\n", "            pass\n", "promote/test_rules_change.py"),
    broken("rules: a new owner agrees", "promote/rules_change.py", "found = new | {o for m, o in owners.items()", "found = {o for m, o in owners.items()", "promote/test_rules_change.py"),
    broken("rules: the old owner agrees", "promote/rules_change.py", "found = new | {o for m, o in owners.items() if wanted.owners.get(m, o) != o}", "found = new", "promote/test_rules_change.py"),
    broken("rules: judged by the old ones", "promote/rules_change.py", "missing_approvals(rules.rules, record, given,", "missing_approvals(record.rules, record, given,", "promote/test_rules_change.py"),
    broken("rules: approvals of another change do not count", "promote/rules_change.py", "if (approval.plan, approval.environment, approval.digest) != (record.id, record.environment, record.id):", "if False:", "promote/test_release_grounds.py"),
    broken("rules: whoever proposed it does not stand in for an owner", "promote/rules_change.py", 'return "" if itself and not perhaps_same(', 'return "" if itself or not perhaps_same(', "promote/test_rules_change.py"),
    broken("rules: a change that was overtaken takes no effect", "promote/rules_change.py", "    if current.id != record.parent:\n", "    if False:\n", "promote/test_rules_change.py"),
    broken("rules: the same change waits for all", "promote/rules_change.py", "    if not missing:\n        took", "    if counted or not missing:\n        took", "promote/test_rules_change.py"),
)  # fmt: skip

COUNTING = (
    broken("scope: nothing beside it", "promote/approval.py", "        scope = approval.scope.get(pointer.model, NOTHING)\n        found", "        scope = approval.scope.get(pointer.model, pointer.covers)\n        found", "promote/test_release_grounds.py"),
    broken("own: by any account that opened the plan", "state/plans.py", "return tuple(dict.fromkeys((self.by, *self.opened_by)))", "return (self.by,)", "promote/test_release_grounds.py"),
    broken("account: it is who it claims to be", "state/approval_validity.py", "if not same_person(rules.people, approval.account, approval.by):", "if False:", "promote/test_release_grounds.py"),
    broken("signature: required", "state/approval_validity.py", 'if unsigned(approval, rules):\n            return "without', 'if False:\n            return "without', "state/test_approval_validity.py"),
    broken("signature: looked at", "state/approval_validity.py", "elif problem := genuine(approval):", 'elif problem := "":', "promote/test_approval.py"),
    broken("a team of one: only where nobody else is named", "state/approval_validity.py", "named = is_listed(rules.people, owner) or listed_for(owner, rules) is not None\n", "named = False\n", "state/test_approval_validity.py"),
    broken("people: in whatever letters an owner is written", "state/people.py", "return folded(name) in {folded(known) for", "return name in {known for", "state/test_approval_validity.py"),
    broken("people: in whatever letters an owner is listed", "state/approval_validity.py", "if folded(name) == folded(owner)]", "if name == owner]", "state/test_approval_validity.py"),
    broken("people: another account is another person", "state/approval_validity.py", "return not owner or same_person(rules.people, name, owner)", "return bool(not owner or name)", "state/test_approval_validity.py"),
)  # fmt: skip

EXTENDING = (
    broken("a routine run leaves alone what moved meanwhile", "promote/extend.py", "    held = _moved(project, facts)\n", "    held = list[Obstacle]()\n", "promote/test_races.py"),
    broken("a routine run leaves alone what reads it", "promote/extend.py", 'named = [f"{m}+" for o in obstacles', "named = [m for o in obstacles", "promote/test_release_grounds.py"),
    broken("a routine run is judged as one", "promote/extend.py", "purpose=Purpose.ROUTINE)", "purpose=Purpose.PROMOTION)", "promote/test_release_grounds.py"),
)  # fmt: skip

KNOWN_DAYS = (
    broken("known days: of the file as it was", "adapters/known_days.py", " if stamp == file.stamp}", "}", "adapters/test_known_days.py::test_a_file_is_read_once"),
    broken("known days: of the entry as it was", "adapters/known_days.py", 'if said["of"] == _key(source, pattern):', "if True:", "adapters/test_known_days.py::test_another_entry_is_read_anew"),
    broken("known days: of a file that is as it was listed", "adapters/source_days.py", " if file in as_listed}", "}", "adapters/test_known_days.py::test_what_was_written_while_it_was_read_is_not_remembered"),
    broken("known days: of a file that is at rest", "adapters/known_days.py", "if found is not None and file.written < settled", "if found is not None", "adapters/test_known_days.py::test_what_was_just_written_is_not_remembered"),
)  # fmt: skip

EVIDENCE = (
    broken("evidence names approvals that count", "promote/consent.py", "if case.not_counted(review.record, approval):", "if not approval:", "promote/test_release_grounds.py"),
    broken("evidence names approvals of rows that change", "promote/consent.py", "if any(part & about.get(name, NOTHING) for name, part in case.changed.items()):", "if about or not about:", "promote/test_release_grounds.py"),
    broken("without evidence nothing moves", "promote/release.py", "if not digests.get(release):", "if False:", "promote/test_gate_rules.py"),
    broken("a sample has at most five rows of an interval", "audits/sample.py", "if start in starts and len(found[start]) < SAMPLE_SIZE:", "if start in starts:", "audits/test_sample_size.py"),
    broken("a sample is not read as a whole", "audits/sample.py", "WHERE bf_n <= {SAMPLE_SIZE} ORDER", "ORDER", "audits/test_sample_size.py"),
    broken("a sample is of the intervals asked for", "audits/sample.py", "if start in starts and len(", "if len(", "audits/test_sample_size.py"),
)  # fmt: skip

TURNS = (
    broken("turns: one process at a time builds a batch", "build/batch.py", "            if mine:\n", "            if True:\n", "build/test_turns.py::test_each_day_is_written_once"),
    broken("turns: what is missing is asked in turn", "build/batch.py", "    missing = Ranges((interval,)) - have.built - have.empty\n", "    missing = Ranges((interval,))\n", "build/test_turns.py::test_what_was_built_meanwhile_is_not_built_again"),
    broken("turns: other batches first", "build/batch.py", "        if not last:\n", "        if False:\n", "build/test_turns.py::test_what_another_process_builds_is_put_off_until_all_else_is_done"),
    broken("turns: what was put off is built", "build/build.py", "    if later := worker.take_later():\n", "    if later := []:\n", "build/test_turns.py::test_what_another_process_builds_is_put_off_until_all_else_is_done"),
    broken("turns: a fork keeps no lock", "adapters/turn_lock.py", "os.register_at_fork(after_in_child=_close_in_child)\n", "", "adapters/test_turn_lock.py::test_a_fork_keeps_nothing"),
    broken("turns: overlapping intervals", "adapters/turn_lock.py", "begin, end - begin, 0)", "begin, 1, 0)", "adapters/test_turn_lock.py::test_intervals_that_overlap"),
)  # fmt: skip
