# ruff: noqa: E501 (tables of texts)
"""Routine runs, samples, texts that count as unchanged, leases and the janitor."""

from __future__ import annotations

from backfill_assets_tests.mutations.mutation import broken

ROUTINE = (
    broken("a routine run executes the stored text", "plan/published.py", "if loaded is not None and same_text(loaded, record.definition):", "if loaded is not None:", "plan/test_published_code.py"),
    broken("a routine run keeps sources that are gone in mind", "plan/published.py", "if upstream in models or upstream in project.sources:", "if True:", "plan/test_published_code.py"),
    broken("a record says where a header ends", "build/version_tables.py", "replace(job.model, start=declared.start, end=declared.end)", "job.model", "promote/test_routine_beside_older.py"),
    broken("an end that is passed is none", "plan/published.py", "return replace(model, end=None) if passed else model", "return model", "promote/test_routine_beside_older.py"),
    broken("an end that a header says counts", "plan/published.py", "start=max(model.start, loaded.start), end=loaded.end)", "start=max(model.start, loaded.start))", "promote/test_routine_beside_older.py"),
    broken("an earlier start waits", "plan/published.py", "start=max(model.start, loaded.start)", "start=loaded.start", "promote/test_headers_now.py"),
    broken("no new logic before the older", "plan/published.py", "every.start if pointer.older else model.start)", "model.start)", "promote/test_headers_now.py"),
    broken("an end that was promoted low holds", "plan/published.py", "shown > max(model.end, until or model.end)", "shown > model.end", "promote/test_headers_now.py"),
    broken("a mask that was promoted holds", "plan/published.py", "        model = masked_as_well(model, then.mask)", "        pass", "promote/test_headers_now.py"),
    broken("audits that nobody promoted judge no rollback", "promote/rollback.py", "header = records.headers.get((name, then.version)) or (HeaderThen.of(record.definition) if record else None)", "header = records.headers.get((name, then.version))", "promote/test_headers_now.py"),
    broken("days are of one kind", "plan/published.py", "if loaded is not None and (loaded.cadence, loaded.time_zone) == (model.cadence, model.time_zone):", "if loaded is not None:", "promote/test_headers_now.py"),
    broken("an end that is loaded hides nothing", "plan/published.py", ".reaching(shown.end)", "", "promote/test_headers_now.py"),
    broken("an end that is loaded stops no rollback", "promote/rollback.py", "m.reaching(ends[n]) if n in ends else m", "m", "promote/test_headers_now.py"),
    broken("an end of a record stops no rollback", "promote/rollback_step.py", "model = model.reaching(model.cadence.ceil(span.end))", "pass", "promote/test_headers_now.py"),
    broken("an end that was promoted holds", "plan/published.py", "model = replace(model, start=then.start or model.start, end=then.end)", "pass", "promote/test_headers_now.py"),
    broken("a rollback is judged by the audits of then", "promote/rollback.py", "model = held_against(model, header)", "pass", "promote/test_headers_now.py"),
    broken("a rollback builds by the audits of then", "promote/rollback.py", "published(project, after, versions, records.headers)", "published(project, after, versions)", "promote/test_headers_now.py"),
    broken("what is still to come of a week is no loss", "plan/changes.py", "return facts.standing[name].partial - publish", "return facts.standing[name].unaudited - publish", "promote/test_headers_now.py"),
    broken("what is still to come of a week stops no rollback", "promote/rollback_step.py", "never = never.until(max(days.over(now), model.calendar.over(now)))", "pass", "promote/test_headers_now.py"),
    broken("masks follow into published code", "plan/published.py", "m if _low(m.mask) == _low(masked[n].mask) else masked[n]", "m", "promote/test_headers_now.py"),
    broken("the grain that was promoted counts", "plan/published.py", "grain=then.grain or model.grain", "grain=model.grain", "plan/test_published.py"),
    broken("what is masked by now is masked", "plan/published.py", "masked_as_well(as_said(model, loaded, OF_ANY_DAYS), loaded.mask)", "as_said(model, loaded, OF_ANY_DAYS)", "plan/test_published_code.py"),
)  # fmt: skip

SAMPLES = (
    broken("a sample promotes nothing", "plan/sample.py", "for s in stages if isinstance(s, Build | AuditStage)))", "for s in stages))", "plan/test_sample.py"),
    broken("a sample is of as many intervals as asked", "plan/sample.py", "evenly_spaced(stage.intervals, model.cadence, count)", "stage.intervals", "plan/test_sample.py"),
    broken("a sample has what it needs of upstreams", "plan/sample.py", "chosen.get(upstream.name, Ranges()) | needed(model, upstream, interval)", "chosen.get(upstream.name, Ranges()) | Ranges((interval,))", "plan/test_sample.py"),
    broken("a sample builds nothing that is there", "plan/sample.py", "chosen[name] = mine & stage.intervals", "chosen[name] = mine", "plan/test_sample.py"),
)  # fmt: skip

TEXTS = (
    broken("a text check takes the oldest and the newest", "plan/changed_texts.py", "return Ranges.of([units[0], units[-1], *between[: SAMPLED - 2]])", "return Ranges.of(between[:SAMPLED])", "build/test_text_check.py"),
    broken("a text check is of the same intervals each time", "plan/changed_texts.py", "key=lambda unit: digest(seed, unit.start.isoformat()))", "key=lambda unit: id(unit))", "build/test_text_check.py"),
    broken("a text check that failed is tried again", "plan/changed_texts.py", "is None or check.error)", "is None)", "build/test_text_check.py"),
    broken("another text is another text", "plan/changed_texts.py", "return built_by == model.text", "return True", "build/test_text_check.py"),
    broken("a wrong text builds nothing", "build/text_check.py", "if error := _not_its_text(bench, name):", "if error := None:", "build/test_text_check.py"),
    broken("rows that differ are found", "build/text_check.py", "return replace(check, differ=differ)", "return check", "build/test_text_check.py"),
    broken("late data is no fault of the text", "build/text_check.py", "differ = differ - _differs_in_both(bench, one, differ, tried)", "pass", "build/test_text_check.py"),
    broken("a text check that cannot be computed is kept", "build/text_check.py", "    if outcome.failures:\n        return replace(check", "    if False:\n        return replace(check", "build/test_text_check.py"),
)  # fmt: skip

LEASES = (
    broken("zones: a day meets all of its hours", "core/local_days.py", "while all_later_from(zone, first) > time.start:", "while False:", "core/test_local_days.py"),
    broken("zones: a day is over when its last hour is", "core/local_days.py", "while all_later_from(zone, day) > instant:", "while False:", "core/test_local_days.py::test_a_day_whose_clocks_go_back_to_it_is_not_over"),
    broken("zones: a midnight that comes twice", "core/local_days.py", "return second if local_day(zone, second - _LEAST) < day else first", "return first", "core/test_local_days.py"),
    broken("zones: a source begins in a day", "plan/bounds.py", "    return days_meeting(model.time_zone, Interval(start, start + _LEAST)).start\n", "    return start\n", "plan/test_local_days.py"),
    broken("zones: a source ends with the last day that is over", "plan/bounds.py", "else model.calendar.days_over(end)", "else end", "plan/test_local_days.py"),
    broken("zones: another zone is told", "plan/changes.py", "    if then == now:\n        return ()\n    return (f\"its days", "    if then or not then:\n        return ()\n    return (f\"its days", "promote/test_change_of_zone.py"),
    broken("zones: what new days lack is told", "plan/changes.py", "(pointer.covers & meeting) - publish - model.expected(facts.now)", "NOTHING", "promote/test_change_of_zone.py"),
    broken("zones: what is shown was read by its own days", "plan/older_sources.py", "time_zone=zones.get(name, model.time_zone))", "time_zone=model.time_zone)", "promote/test_older_sources.py"),
    broken("another person's plan is in the way", "plan/leases.py", "            collisions.append(Collision(plan=other, models=clash))\n", "            pass\n", "plan/test_leases.py"),
    broken("plans of other environments are no matter", "plan/leases.py", "if not other.live or other.environment != plan.environment:", "if not other.live:", "plan/test_leases.py"),
    broken("plans that ended are no matter", "plan/leases.py", "if not other.live or other.environment != plan.environment:", "if other.environment != plan.environment:", "plan/test_leases.py"),
    broken("a lease ends when the version is shown", "plan/leases.py", "for t in versions if not _shows(shown, t)}", "for t in versions}", "plan/test_leases.py"),
)  # fmt: skip

FROZEN = (
    broken("what is left reads what was frozen", "plan/frozen.py", "\"commit\" in now and not same_pin(then, now)", "False", "plan/test_frozen.py"),
    broken("rows beside others are found", "plan/stale_inputs.py", "elif entry.at != newest.at or not same_inputs(entry.inputs, newest.inputs)", "elif False", "watch/test_stale_inputs.py"),
    broken("rows that a rollback took out of sight are others", "plan/stale_inputs.py", "elif entry.at != newest.at or not same_inputs(entry.inputs, newest.inputs)", "elif (entry.at != newest.at or not same_inputs(entry.inputs, newest.inputs)) and entry.order < newest.order", "promote/test_beside_newer.py::test_a_model_from_before_a_rollback_of_its_upstream"),
    broken("a damaged log is no reason to say nothing of others", "state/tables.py", "    except DamagedLogError:\n        return -1", "    except ZeroDivisionError:\n        return -1", "state/test_damaged_logs.py"),
    broken("a damaged log that is found later", "state/shown_state.py", "with suppress(DamagedLogError):", "with suppress(ZeroDivisionError):", "state/test_damaged_logs.py"),
    broken("a restatement reads what is built", "plan/plan.py", "        _refuse_missing_inputs(_waiting(project, facts, request, patches))\n", "        pass\n", "plan/test_gained.py::test_what_is_not_built_yet_comes_first"),
    broken("a table that comes back: read by another name", "promote/tables_again.py", "{*above, *read}", "{*above}", "promote/test_tables_again.py"),
    broken("a table that comes back: batches by another name", "plan/stale_inputs.py", "elif tables.came is not None:", "elif False:", "promote/test_tables_again.py"),
    broken("a version goes on when what it read is out of sight", "app/follow.py", "    records.follow([version for name, version in found.items() if name not in beside_old])\n", "", "promote/test_renamed_models.py"),
    broken("a restatement takes no column away", "plan/plan.py", "    _refuse_dropped_columns(project, facts, patches)\n", "", "plan/test_dropped_columns.py"),
    broken("what would be shown is held against its sources", "app/preview.py", "(*shown, *find_older_moves(context, facts, made))", "shown", "promote/test_renamed_models.py::test_what_would_be_shown_is_older_than_its_source"),
    broken("a damaged log: nothing is recorded of it", "state/tables.py", "    head = log.head(model, version)\n    if head < 0:\n        return _without_table(entries, audits), head\n", "    head = known_head(log, model, version)\n    if head < 0:\n        return _without_table(entries, audits), head\n", "state/test_damaged_logs.py::test_nothing_is_recorded_of_it"),
    broken("a damaged log: no day is declared empty", "build/ledger_edits.py", "            log.commits(name, project.fingerprints[name])  # all of its log is looked at\n", "", "state/test_damaged_logs.py::test_nothing_is_recorded_of_it"),
    broken("a copy is no other rows", "plan/stale_inputs.py", "elif entry.at != newest.at or not same_inputs(entry.inputs, newest.inputs)", "elif True", "watch/test_stale_inputs.py"),
    broken("older rows of other logic are others", "plan/stale_inputs.py", "if shown.at < read.at:\n            return Ranges((part,))", "if shown.at < read.at:\n            return NOTHING", "watch/test_stale_inputs.py::test_rows_of_the_code_before"),
    broken("newer rows of other logic are others where something came", "plan/stale_inputs.py", "found |= self.came(reader, name, part, read, shown)", "pass", "promote/test_built_anew.py"),
    broken("a table that comes back: what came to the sources in between", "promote/older_reads.py", "upstreams=(*others, *_not_among(others, again), *left)", "upstreams=(*others, *left)", "promote/test_tables_again.py"),
    broken("a table that comes back: not what stays", "promote/tables_again.py", " & out[each.model])", ")", "promote/test_built_anew.py::test_rows_that_stay_are_not_held_against_what_came"),
    broken("a table that comes back: through models between", "promote/tables_again.py", "{*above, *read}", "read", "promote/test_tables_again.py::test_what_came_through_models_between"),
    broken("what came elsewhere makes no other rows", "plan/older_sources.py", "return known[states] & Ranges((part,))", "return Ranges((part,)) if known[states] else NOTHING", "promote/test_built_anew.py"),
    broken("a shown model without code holds back what it reads", "promote/cases.py", "for name, model in then.items() if model is not None}", "for name, model in then.items() if False}", "promote/test_deleted_readers.py"),
    broken("a restatement reads what is shown", "plan/plan.py", "refuse_unpublished_inputs(project, facts.environment, patches, patches)", "pass", "plan/test_unpublished_inputs.py"),
    broken("a day that reads its week waits for it", "core/readiness.py", "if not _ends_within(cadence, last):", "if False:", "plan/test_ready.py"),
    broken("a table that was made anew is another", "core/pin.py", "then[\"table\"] != now[\"table\"]", "False", "watch/test_late_delta.py"),
    broken("a day that failed reads a mended source", "plan/frozen.py", "            return \"their build failed\" if entry.inputs else \"\"", "            return \"\"", "plan/test_frozen.py"),
    broken("an interruption is no failure", "plan/frozen.py", "return \"their build failed\" if entry.inputs else \"\"", "return \"their build failed\"", "plan/test_frozen.py"),
    broken("an open day is no day of the plan", "plan/frozen.py", "split_open(model, left & target.intervals, plan.now)[0]", "left & target.intervals", "plan/test_frozen.py"),
    broken("what a batch read of a mended source stays", "plan/frozen.py", "return max(then, read, key=", "return min(then, read, key=", "plan/test_frozen.py"),
)  # fmt: skip

KEEPING = (
    broken("a kept table was proved or accepted", "watch/kept_models.py", "return all(f.name in accepted for f in proof.findings if f.model == m.upstream)", "return True", "watch/test_kept_models.py"),
    broken("a plan about the upstream only keeps nothing", "watch/kept_models.py", 'bool(change and change.category is Category.UNCHANGED) or bool(words)', "True", "watch/test_kept_models.py"),
    broken("a proof is against what was right", "watch/kept_models.py", "if before == m.built_from or not apart(then) or _is_kept(control, releases[:number], then, apart):", "if True:", "watch/test_kept_models.py"),
)  # fmt: skip

AHEAD = (
    broken("what the gate will refuse is said before", "promote/gate_forecast.py", "*gate(then, RULES_BEFORE_BUILDING).obstacles,", "", "promote/test_gate_forecast.py"),
    broken("what is built does not stand in its own way", "promote/gate_forecast.py", "have.green | stage.intervals", "have.green", "promote/test_gate_forecast.py"),
)  # fmt: skip

JANITOR = (
    broken("nothing can be pointed at what goes", "state/environment.py", "if t in current.marked_for_deletion or current.removals.get(t, -1) > since}:", "if t in ()}:", "promote/test_janitor.py"),
)  # fmt: skip

COPIES = (
    broken("a copy has the rows of its text", "plan/renamed_columns.py", " or old.rows != new.rows:", ":", "plan/test_renamed_columns.py"),
    broken("a column is copied where its meaning is", "plan/renamed_columns.py", "same = [column] if column in same else same", "same = [column]", "plan/test_renamed_columns.py"),
    broken("nobody guesses which column is meant", "plan/renamed_columns.py", "if len(same) != 1:", "if not same:", "plan/test_renamed_columns.py"),
    broken("a column twice is no rename", "plan/renamed_columns.py", "len(set(taken)) == len(taken) and ", "", "plan/test_renamed_columns.py"),
    broken("only what the view lists is copied", "plan/renamed_columns.py", "if other == meaning and c in listed]", "if other == meaning]", "plan/test_renamed_columns.py"),
    broken("an author's word proves no copy", "plan/renamed_columns.py", "if any(name in (word.model, *word.reaches) for word in project.overrides.values()):", "if False:", "plan/test_renamed_columns.py"),
    broken("another release's rules prove no copy", "plan/renamed_columns.py", "if facts.shown.algorithms.get(name) != ALGORITHM:", "if False:", "plan/test_renamed_columns.py"),
    broken("what is copied was computed beside the upstreams that are shown", "plan/renamed_columns.py", "    if not _same_upstreams(project, facts, project.models[name]):\n        return None\n", "", "plan/test_renamed_columns.py"),
    broken("what is copied was computed from what the code reads", "plan/renamed_columns.py", "    if set(said) != {u.name for u in model.upstreams}:\n        return False\n", "", "plan/test_renamed_columns.py"),
    broken("what is copied was computed from the versions that the code reads", "plan/renamed_columns.py", "logic_of(str(one.get(\"version\", \"\"))) == project.fingerprints[name]", "True", "plan/test_renamed_columns.py"),
    broken("days of which something bad is known are computed", "plan/renamed_columns.py", ".without(bad).joined()", ".joined()", "plan/test_renamed_columns.py"),
    broken("rows of older logic are computed", "plan/renamed_columns.py", "for p in known.of(pointer.version) if", "for p in known.parts if", "plan/test_renamed_columns.py"),
    broken("a red copy is not made again", "plan/renamed_columns.py", " - Ranges.of(part for part, _ in refused)", "", "plan/test_renamed_columns.py"),
    broken("copies are of the plan's own code", "build/batch.py", "if copied.version != version:", "if False:", "plan/test_renamed_columns.py"),
    broken("what does not count any more is not copied", "build/copying.py", "if left := Ranges((interval,)) - (good & Ranges.of(part for part, _ in found)):", "if left := Ranges():", "plan/test_renamed_columns.py"),
    broken("a copy has as many rows", "build/copying.py", "if before != after:", "if False:", "plan/test_renamed_columns.py"),
    broken("a copy says what its rows were computed from", "build/copying.py", "inputs=entry.inputs, ", "", "plan/test_renamed_columns.py"),
    broken("a copy of a copy says what computed the rows", "state/entries.py", "        if self.origin and not self.origin.scope:\n            return self.origin\n", "", "plan/test_renamed_columns.py"),
    broken("scopes_as_shown", "promote/gate.py", "left := changed_beside(have, segment.version, shown) & ", "left := Ranges() & ", "plan/test_scope.py"),
    broken("another batch may be shown outside of a scope", "plan/scope.py", "part.entry.batch != entry.origin.batch", "False", "plan/test_scope.py"),
    broken("rows that may move reach any row of a reader", "plan/scope.py", "if scope.by_key:\n        raise", "if False:\n        raise", "plan/test_scope.py"),
    broken("a scope is of the key, or goes by it", "plan/scope.py", "by_key = not grain.issuperset(name.lower() for name in named)", "by_key = False", "plan/test_scope.py"),
    broken("a reader's scope is of its key", "plan/scope.py", "if lacking := set(reached.columns) - {column.lower() for column in model.grain}:", "if lacking := set():", "plan/test_scope.py"),
    broken("what cannot be copied is not", "plan/scope.py", "if own and copied:", "if False:", "plan/test_scope.py"),
    broken("rows beside others than they were computed from are not copied", "plan/scope.py", "than are shown\": stale,", "than are shown\": NOTHING,", "plan/test_scope.py"),
    broken("a scope names its columns", "sql/row_condition.py", "if tree.find(exp.Star):", "if False:", "plan/test_scope.py"),
    broken("a day in a scope is as new as its newest rows", "plan/older_sources.py", "read, began = entry.newest if as_new else", "read, began = entry.newest if False else", "plan/test_scope.py::test_a_correction_in_a_scope_is_not_undone_by_older_rows"),
    broken("what is copied as it is shown is no older", "plan/older_sources.py", " or copied in there", "", "plan/test_scope.py::test_scopes_follow_each_other"),
    broken("a reader's masked columns are not in a scope", "plan/scope.py", ".intersection(reached.columns):", ".intersection(()):", "plan/test_scope.py"),
    broken("masked values are not in a scope", "plan/scope.py", "model.mask}.intersection(name.lower() for name in named):", "model.mask}.intersection(()):", "plan/test_scope.py"),
    broken("another scope is another revision", "plan/scope.py", "*(_decided(scope) if scope else []), ", "", "plan/test_scope.py"),
    broken("other keys are another revision", "plan/scope.py", "return [scope.ids, *scope.columns] if scope.ids", "return [*scope.columns] if scope.ids", "plan/test_scope.py::test_keys_of_a_file"),
    broken("masked keys are not kept", "plan/ids.py", "for c in model.mask}.intersection(ids.columns)", "for c in model.mask}.intersection(())", "plan/test_scope.py::test_keys_that_are_none_of_the_models"),
    broken("keys are of columns of the grain", "plan/ids.py", "if name not in grain:", "if name not in types:", "plan/test_scope.py::test_keys_that_are_none_of_the_models"),
    broken("what a file is called decides nothing", "plan/ids.py", 'file: str = field(default="", compare=False)', 'file: str = ""', "plan/test_ids.py"),
    broken("the rows beside a scope stay as old as they are", "build/copying.py", "**(entry.inputs or {}), ", "", "plan/test_scope.py"),
    broken("rows of a scope were computed by their own batch", "state/entries.py", "if self.origin and not self.origin.scope:", "if self.origin:", "plan/test_scope.py"),
    broken("open intervals that a restatement leaves out", "plan/left_open.py", "- model.expected(facts.now) - own", "- model.begun(facts.now) - own", "plan/test_left_open.py"),
    broken("copied_as_shown", "promote/gate.py", "left := outdated(have, shown) & own", "left := Ranges()", "plan/test_renamed_columns.py"),
    broken("a stored copy is looked at again", "plan/renamed_columns.py", "return found.cut(planned.covers & fit)", "return planned", "plan/test_renamed_columns.py"),
    broken("another key is computed", "plan/renamed_columns.py", "or _another_key(project.models[name], columns)", "", "plan/test_renamed_columns.py"),
    broken("rows of other logic beside are no copy", "plan/renamed_columns.py", "(read, *read.get(\"over\", ()))", "(read,)", "plan/test_renamed_columns.py"),
    broken("copies belong to what a plan is", "plan/stages.py", "            content.append(to_plain(self.copies))\n", "            pass\n", "plan/test_renamed_columns.py"),
)  # fmt: skip
"""Conditions of a copy, and what is recorded of it."""
