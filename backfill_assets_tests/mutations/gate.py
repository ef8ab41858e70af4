# ruff: noqa: E501 (tables of texts)
"""The gate's rules, and what it takes to be other rows."""

from __future__ import annotations

from backfill_assets_tests.mutations.mutation import broken

_COVERED = "i for c in valid for i in c.get(name, NOTHING)"

_BESIDE = "promote/test_beside_newer.py::"

GATE = (
    broken("from_rows", "promote/gate.py", "            if hollow:\n", "            if False:\n", "promote/test_gate_rules.py::test_rows_that_were_computed_from_declared_empty_ones"),
    broken("of_shown_rows", "promote/gate.py", "for each in case.older if", "for each in () if", f"{_BESIDE}test_a_plan_from_before_a_correction_of_its_upstream"),
    broken("of_shown_rows: what is shown so already", "promote/cases.py", " - before.get((each.model, each.upstream), NOTHING))", ")", f"{_BESIDE}test_what_is_shown_so_already_holds_up_nothing"),
    broken("of_shown_rows: older logic is told before", "promote/gate_forecast.py", "shown.older.covers - pointer.older.covers", "NOTHING", f"{_BESIDE}test_older_logic_that_the_same_plan_replaces"),
    broken("an open plan is about what it named", "promote/cases.py", "for t in record.targets)", "for t in record.targets if t.intervals)", "promote/test_machine_oracle.py::test_an_open_plan_is_about_the_versions_that_it_named"),
    broken("way_back", "promote/gate.py", "yield from case.way_back", "yield from ()", "promote/test_gate_rules.py::test_what_a_rollback_finds_in_its_way"),
    broken("not_in_place", "promote/gate.py", "case.rewritten.items():", "dict(case.rewritten and {}).items():", "promote/test_gate_rules.py::test_rows_written_over_published_ones"),
    broken("built", "promote/gate.py", "if w.unbuilt:", "if False:", "promote/test_gate.py"),
    broken("audited", "promote/gate.py", "if w.unaudited:", "if False:", "promote/test_gate.py"),
    broken("with_rows", "promote/gate.py", "if w.hollow:", "if False:", "promote/test_gate.py"),
    broken("nothing_lost", "promote/gate.py", "if w.lost:", "if False:", "promote/test_gate.py"),
    broken("fits_together", "promote/gate.py", "if case.wanted.ready and case.purpose is not", "if case.purpose is", "promote/test_gate.py"),
    broken("only_more", "promote/gate.py", "if case.purpose not in (Purpose.ROUTINE, Purpose.JOIN):", "if True:", "promote/test_gate_rules.py"),
    broken("known", "promote/gate.py", "if gap.blocking:", "if False:", "promote/test_gate_rules.py"),
    broken("known: where approvals are required", "promote/gate.py", "if case.required and case.purpose is Purpose.PROMOTION:", "if case.purpose is Purpose.PROMOTION:", "promote/test_gate_rules.py"),
    broken("compared", "promote/gate.py", "if left := part - Ranges.of(i for ranges in seen", "if left := part - part - Ranges.of(i for ranges in seen", "promote/test_approval.py"),
    broken("compared: by every kind of proof", "promote/gate.py", "if s.proved >= EVERY_PROOF]", "if s.proved]", "promote/test_gate_rules.py"),
    broken("approved", "promote/gate.py", f"if open_ := part - Ranges.of({_COVERED}):", f"if open_ := part - part - Ranges.of({_COVERED}):", "promote/test_approval.py"),
    broken("approved: by each owner", "promote/gate.py", "for owner in case.owners(name):\n            valid", "for owner in list(case.owners(name))[:1]:\n            valid", "promote/test_gate_rules.py"),
    broken("approved: by the owner and not by another one", "promote/gate.py", "_approvals(case) if a.owner == owner]\n            if open_", "_approvals(case)]\n            if open_", "promote/test_approval.py"),
    broken("approved: each interval", "promote/gate.py", f"part - Ranges.of({_COVERED})", "part - Ranges.of(i for c in valid if c.get(name) for i in part)", "promote/test_approval.py"),
    broken("approved: by approvals that count", "promote/gate.py", "for a in h.approvals if not case.counts(h.record, a)]", "for a in h.approvals]", "promote/test_approval.py"),
    broken("accepted", "promote/gate.py", "if lacking:", "if False:", "promote/test_approval.py"),
    broken("accepted: by its name", "promote/gate.py", "finding.name in approval.accepted and covered_by(case", "covered_by(case", "promote/test_approval.py"),
    broken("accepted: by the model's owner", "promote/gate.py", "if not case.required or approval.owner == owner\n", "if owner or True\n", "promote/test_gate_rules.py"),
    broken("texts_hold: they were compared", "promote/gate.py", "in unchecked(found, case.facts.text_checks):", "in unchecked((), case.facts.text_checks):", "build/test_text_check.py"),
    broken("texts_hold: they gave the same", "promote/gate.py", "in refuted(found, case.facts.text_checks):", "in refuted((), case.facts.text_checks):", "build/test_text_check.py"),
    broken("a closed gate moves nothing", "promote/release.py", "if not verdict.open or not verdict.moves:", "if not verdict.moves:", "promote/test_gate_rules.py"),
    broken("no model beside one in other letters: where all look", "app/context.py", "        refuse_other_letters(facts.environment.name, facts.environment.pointers, self.project.models)\n", "", "test_names.py"),
    broken("no model beside one in other letters: where pointers move", "state/environment.py", "        refuse_other_letters(seen.name, seen.pointers.keys() - set(remove), [p.model for p in pointers])\n", "", "test_names.py"),
    broken("out of sight: other rows are a change", "promote/changed_rows.py", "if part := _since_last_shown(facts, pointer, log, cadence):", "if part := NOTHING:", "promote/test_out_of_sight.py"),
    broken("out of sight: days of models that are shown", "promote/changed_rows.py", " | _back_in_sight(facts, before, pointer, log, cadence)\n", "\n", "promote/test_lost_days.py"),
    broken("out of sight: days in the logic that somebody went back to", "promote/changed_rows.py", "return back - went_back", "return back", "promote/test_lost_days.py::test_what_the_older_version_gains_is_growth"),
    broken("out of sight: a table that was removed", "promote/changed_rows.py", "return removed | replaced(", "return replaced(", "promote/test_out_of_sight.py"),
    broken("out of sight: the owners in force stay", "promote/rules_change.py", "never = moving - {*shown.pointers, *out_of_sight}", "never = moving - {*shown.pointers}", "promote/test_out_of_sight.py"),
    broken("out of sight: changes of the rules ask the owners", "promote/rules_change.py", "    owners, shown = rules.owners, {*shown, *rules.owners}\n", "    owners = {m: o for m, o in rules.owners.items() if m in shown}\n", "promote/test_out_of_sight.py"),
    broken("out of sight: readers in force", "promote/rollback.py", "    readers += [(name, reader.owner, reader.reads) for name, reader in rules.consumers.items()]\n", "", "promote/test_out_of_sight.py"),
    broken("rules that change meanwhile are the ones that judge", "promote/release.py", "if in_force and control.rules.in_force(", "if not in_force and control.rules.in_force(", "promote/test_gate_rules.py::test_rules_that_change_meanwhile_are_the_ones_that_judge"),
    broken("whom only the files name is asked", "state/rules.py", "*([beside.approvals] if beside else [])", "*()", "test_waiting.py::test_whom_only_the_files_name_is_asked"),
    broken("a lost race is gated again", "promote/release.py", "        verdict = gate(case)\n", "        verdict = gate(case) if not _ else verdict\n", "promote/test_gate_rules.py"),
    broken("rows of another commit are others", "state/replaced_rows.py", "odd = {at for at in here.keys() | there.keys() if here.get(at) != there.get(at)}", "odd = set[object]()", "state/test_replaced.py"),
    broken("rows of another table are others", "state/replaced_rows.py", "    if one.version != other.version:\n        return NOTHING\n", "    if one.version != other.version:\n        return within\n", "promote/test_approval.py"),
    broken("somebody else's commit may have written anywhere", "state/replaced_rows.py", "return not commit.batch or commit.interval is None or", "return commit.interval is not None and", "state/test_replaced.py"),
    broken("columns that go are a change", "state/replaced_rows.py", "return all(then.get(n) == kind and kept.get(n) == stored[n] for", "return all(True for", "state/test_replaced.py"),
    broken("what is not shown any more is a change", "state/replaced_rows.py", "    if after is None:\n        return before.covers", "    if after is None:\n        return NOTHING", "state/test_replaced.py"),
    broken("removed models are a change", "promote/changed_rows.py", "changed[name] = gone.covers", "changed[name] = Ranges()", "promote/test_gate_rules.py"),
    broken("partial intervals are replaced as growth, others are not", "promote/changed_rows.py", "if part := others - grown:", "if part := others - others:", "promote/test_approval.py"),
    broken("rows written over published ones are told", "promote/changed_rows.py", "if over := part and part & written_over(", "if over := part and part - part & written_over(", "promote/test_gate_rules.py"),
    broken("a commit checks all that was shown", "state/environment.py", "if moved or current.promotion != seen.promotion:", "if set(moved) & set(models) or current.promotion != seen.promotion:", "state/test_environment.py"),
)  # fmt: skip
"""The first word of each is the rule's name, where it is one of the gate's."""

_SETTLING = "promote/test_settling.py::"
SETTLED = (
    broken("a window is for routine runs only", "promote/gate.py", "    if case.purpose is not Purpose.ROUTINE:\n        return {}\n", "", f"{_SETTLING}test_only_routine_runs"),
    broken("settling: routine runs bring no owner", "promote/gate.py", "return {} if self.purpose is Purpose.ROUTINE else self.changed", "return self.changed", f"{_SETTLING}test_an_owner_that_is_edited_comes_with_no_routine_run"),
    broken("settling: a source has to have changed", "promote/settled.py", "may.get(name, NOTHING) & (late.get(name, NOTHING) | above)", "may.get(name, NOTHING)", f"{_SETTLING}test_only_routine_runs"),
    broken("settling: readers go with it", "promote/settled.py", "again = {name: _with_readers(project, facts, found, name) for name in found}", "again = dict(found)", f"{_SETTLING}test_only_routine_runs"),
    broken("settling: in the same columns", "promote/settled.py", "same = (shown.version, shown.columns) == (after.version, after.columns)", "same = shown.version == after.version", f"{_SETTLING}test_only_routine_runs"),
    broken("settling: in the same logic", "promote/settled.py", "own & after.segments.of_logic(shown.version).covers if same", "own if same", f"{_SETTLING}test_only_routine_runs"),
    broken("settling: what is not provisional stays", "state/settling.py", "return self.provisional(model, cadence, shown) - self.went_back", "return shown - self.went_back", f"{_SETTLING}test_older_days_are_left_alone"),
    broken("settling: a rollback stays", "state/settling.py", " - self.went_back.get(model, NOTHING)\n", "\n", f"{_SETTLING}test_a_rollback_is_not_undone"),
    broken("settling: copies do not end a rollback", "state/settling.py", "if move.compaction:", "if False:", f"{_SETTLING}test_what_was_gone_back_to_until_somebody_changes_it"),
    broken("settling: the clock of the releases counts", "state/settling.py", "clock = max([now, *clocks])", "clock = now", f"{_SETTLING}test_the_clock_of_the_releases"),
    broken("settling: not by a clock that is behind", "state/settling.py", "        if self.behind:\n", "        if False:\n", f"{_SETTLING}test_a_clock_that_goes_back"),
    broken("settling: a longer window is of what ends later", "state/settling.py", "cut = max(cut, began) if began is not None else None", "pass", f"{_SETTLING}test_a_longer_window_begins_with_what_is_published_under_it"),
    broken("settling: the shortest window since", "state/settling.py", "window = min(window, record.rules.settle.get(model, 0))", "window = record.rules.settle.get(model, 0)", f"{_SETTLING}test_a_shorter_window_counts_at_once"),
    broken("settling: a proposal is no window", "state/settling.py", "if r.kind is not RulesKind.PROPOSED]", "if r]", f"{_SETTLING}test_a_shorter_window_counts_at_once"),
    broken("settling: a window is the owner's to change", "promote/rules_change.py", "if rules.settle.get(m, 0) != wanted.settle.get(m, 0)}", "if False}", f"{_SETTLING}test_a_change_of_the_window_asks_the_owner"),
    broken("settling: a promotion brings no longer window", "state/rules.py", "if m in files.settle and m not in self.owners}", "if m in files.settle}", f"{_SETTLING}test_a_promotion_brings_no_longer_window"),
    broken("settling: by what was published", "promote/settled.py", " or model is None or name in project.redeclared:", " or model is None:", f"{_SETTLING}test_what_is_read_is_what_was_published"),
    broken("growth: by what was published", "promote/extend.py", "if why != UNSAID}", "if why == UNSAID}", f"{_SETTLING}test_growth_reads_what_was_published"),
    broken("growth: what somebody vouched for", "plan/published.py", "project.fingerprints.get(model.name) != shown.version", "True", f"{_SETTLING}test_growth_reads_what_was_published"),
    broken("settling: a longer window begins by the latest clock", "state/settling.py", "            return latest\n", "            return release.clock\n", f"{_SETTLING}test_a_longer_window_begins_by_the_latest_clock"),
    broken("settling: a first window is of what nobody had shown", "state/settling.py", " or _shown_before(model, record, releases):", ":", f"{_SETTLING}test_the_first_window_of_what_was_shown_without_one"),
    broken("settling: an edited start takes no reader away", "promote/settled.py", "for part in found[name]) & shown.covers\n", "for part in found[name]) & shown.covers & reader.expected(facts.now)\n", f"{_SETTLING}test_a_reader_whose_start_is_edited"),
    broken("settling: adopted rows stay", "promote/settled.py", " - shown.segments.adopted.covers  #", "  #", f"{_SETTLING}test_adopted_rows_stay"),
    broken("settling: whoever has a say about a model is asked about its window", "promote/rules_change.py", "found |= everybody(rules, {m for m in owners if rules.settle.get(m, 0) != wanted.settle.get(m, 0)})", "found |= {o for m, o in owners.items() if rules.settle.get(m, 0) != wanted.settle.get(m, 0)}", f"{_SETTLING}test_a_change_of_the_window_asks_all_who_have_a_say"),
)  # fmt: skip

FINDINGS = (
    broken("rows that came or went", "promote/findings.py", "if rows.added or rows.removed:", "if False:", "promote/test_findings.py"),
    broken("columns that the change does not name", "promote/findings.py", "if c.both and c.name.lower() not in free | declared", "if c.name and not c.name", "promote/test_findings.py"),
    broken("columns that it names", "promote/findings.py", 'for c in (*said.columns, (markers', 'for c in (*said.columns[:0], (markers', "promote/test_findings.py"),
    broken("markers are new in new tables", "promote/findings.py", '(markers or {}).get(model.model) or "")}', '"")}', "promote/test_findings.py"),
    broken("what was declared", "promote/findings.py", "judge_moves(diff, [*implied, *expected])", "judge_moves(diff, implied)", "promote/test_findings.py"),
    broken("changes that may move rows", "promote/findings.py", 'said.rows or said.category in', 'said.category in', "promote/test_findings.py"),
    broken("consumers' queries", "promote/findings.py", "if not r.met", "if r.met", "promote/test_findings.py"),
    broken("kept tables", "promote/findings.py", "for d in drift\n", "for d in list(drift)[:0]\n", "promote/test_findings.py"),
    broken("a moved column that should not have", "compare/expect.py", "    if moves:\n        return f", "    if not moves:\n        return f", "compare/test_expect.py"),
    broken("a mask follows a rename", "compare/renames.py", "return frozenset(masks) | {name for meaning, name in names if meaning in hidden}", "return frozenset(masks)", "compare/test_renames.py::test_a_mask_follows_a_rename"),
    broken("a renamed key is the key", "compare/query.py", "here[now] = here.pop(before)", "pass", "compare/test_renames.py::test_a_renamed_key_is_the_key"),
    broken("what was not compared is not held", "compare/expect.py", "if model is None or not (model.compared or model.proofs):", "if model is None:", "compare/test_expect.py"),
)  # fmt: skip
