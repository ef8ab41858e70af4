# ruff: noqa: E501 (tables of texts)
"""What an approval is about, and whose counts by which rules."""

from __future__ import annotations

from backfill_assets_tests.mutations.mutation import broken

_REPLACED = "promote/test_replaced_since.py"

APPROVALS = (
    broken("digest: of the rows as they are", "promote/approval.py", "    if subject(project, facts, about, approval.scope).digest != approval.digest:\n        return {}\n", "", "promote/test_approval.py"),
    broken("digest: batches and commits", "promote/approval.py", "str(interval), entry.batch, entry.table_commit, entry.inputs]", "str(interval)]", "promote/test_approval.py"),
    broken("digest: audits", "promote/approval.py", "{name: audits_digest(project.models[name]) for name in names},", "", "promote/test_gate_rules.py"),
    broken("digest: consumers", "promote/approval.py", "        [[c.name, c.owner, list(c.reads)] for c in project.consumers.values() if set(c.reads) & set(scope)],\n", "", "promote/test_gate_rules.py"),
    broken("nobody approves what was not compared", "app/approve.py", "    compared(record, subject(context.project, facts, case), cases.request(record))\n", "", "test_waiting.py::test_nobody_approves_what_was_not_compared"),
    broken("digest: comparisons", "promote/approval.py", "digest=_hash(content, [proof.digest for proof in proofs]),", "digest=content,", "promote/test_gate_rules.py"),
    broken("digest: columns", "promote/approval.py", "        [[p.model, p.columns] for p in review.pointers if p.model in scope],\n", "", "promote/test_gate_rules.py"),
    broken("scope: later days of the same version only", "promote/approval.py", "if s.interval.end > since and any(s.version == e.version for e in ends)", "if s.interval.end > since", "promote/test_gate_rules.py"),
    broken("scope: onward where it goes to the end of what is shown", "promote/approve.py", "if span and n in ends and span.end == ends[n]}", "if span and n in ends}", "promote/test_gate_rules.py"),
    broken("digest: what is replaced", "promote/approval.py", "*([since] if since else []),", "", f"{_REPLACED}::test_a_correction_is_not_undone_by_an_older_approval"),
    broken("scope: not where later days were replaced since", "promote/approval.py", "scope | (gained - others)", "scope | gained", f"{_REPLACED}::test_days_that_came_since_and_were_corrected"),
    broken("digest: rows that settle replace nothing", "state/releases.py", "() if release.settling else release.moves", "release.moves", f"{_REPLACED}::test_rows_that_settle_are_no_decision_of_anybody"),
    broken("of this plan and this environment", "promote/approval.py", "if (approval.plan, approval.environment) != (record.id, record.environment):", "if False:", "promote/test_gate_rules.py"),
    broken("proofs of exactly these rows", "state/proofs.py", "if content in (None, proof.content)}", "if True}", "promote/test_approval.py"),
    broken("own", "state/approval_validity.py", "if own and not rules.approvals.self:", "if False:", "state/test_approval_validity.py", "promote/test_approval.py", "promote/test_machine_oracle.py::test_one_thing_is_wrong"),
    broken("own: by a name that may be the author's", "state/approval_validity.py", "return any(perhaps_same(rules.people, name, author) for author in authors)", "return any(same_person(rules.people, name, author) for author in authors)", "state/test_approval_validity.py"),
    broken("expired", "state/approval_validity.py", "if approval.since + timedelta(days=rules.approvals.days) <= now:", "if False:", "state/test_approval_validity.py", "promote/test_approval.py", "promote/test_machine_oracle.py::test_one_thing_is_wrong"),
    broken("expired: counted from the earlier of two times", "state/approvals.py", "return min(self.at, self.recorded or self.at)", "return max(self.at, self.recorded or self.at)", "state/test_approval_validity.py"),
    broken("account: records without one", "state/approval_validity.py", "if not approval.account:", "if False:", "state/test_approval_validity.py"),
    broken("whoever is listed for the owner", "state/approval_validity.py", "return any(same_person(rules.people, name, one) for one in listed)", "return True", "state/test_approval_validity.py"),
    broken("the owner where nobody is listed", "state/approval_validity.py", "return not owner or same_person(rules.people, name, owner)", "return True", "state/test_approval_validity.py"),
    broken("signature: checked by ssh-keygen", "adapters/signatures.py", "if given.returncode == 0:", "if True:", "promote/test_signatures.py"),
    broken("signature: a key counts at its time", "adapters/signatures.py", 'f"verify-time={at:%Y%m%d%H%M%S}"', '"print-pubkey"', "promote/test_signatures.py"),
    broken("signature: no signers, no signature", "adapters/signatures.py", "if not signers.strip():", "if False:", "promote/test_signatures.py"),
    broken("rules: both owners", "state/required_approvals.py", "in (rules.owners.get(model, declared), declared) if name]", "in (declared,) if name]", "promote/test_rules_change.py"),
    broken("rules: the owner in force", "state/required_approvals.py", "in (rules.owners.get(model, declared), declared) if name]", "in (rules.owners.get(model, declared),) if name]", "promote/test_rules_change.py"),
    broken("rules: the validation owner", "state/required_approvals.py", "validation = [name for said in (rules, files)", "validation = [name for said in ()", "promote/test_rules_change.py", "promote/test_machine_oracle.py::test_everybody_who_has_a_say_says_it"),
    broken("rules: the validation owner in force", "state/required_approvals.py", "validation = [name for said in (rules, files)", "validation = [name for said in (files,)", "promote/test_rules_change.py", "promote/test_machine_oracle.py::test_everybody_who_has_a_say_says_it"),
    broken("rules: the owners of critical consumers", "state/required_approvals.py", "        if reader.owner and model in reader.reads\n", "        if not reader.reads\n", "promote/test_rules_change.py", "promote/test_machine_oracle.py::test_everybody_who_has_a_say_says_it"),
    broken("rules: the consumers in force", "state/required_approvals.py", "        for said in (rules, files)\n        for consumer", "        for said in (files,)\n        for consumer", "promote/test_rules_change.py"),
    broken("rules: validation owners are recorded", "state/rules.py", "validation={**self.validation, **{m: files.validation[m] for m in models if m in files.validation}},", "", "promote/test_rules_change.py"),
    broken("rules: consumers are recorded", "state/rules.py", "            consumers=consumers,\n        )\n\n\ndef", "        )\n\n\ndef", "promote/test_rules_change.py"),
    broken("rules: a promotion gives no consumer to another owner", "state/rules.py", "if known.owner == reader.owner and (more", "if (more", "promote/test_rules_change.py"),
    broken("rules: who loses a say is asked", "promote/rules_change.py", "    new |= _whose_say(rules, wanted, shown)\n", "", "promote/test_rules_change.py"),
    broken("rules: a chain of records", "state/rules.py", "if row[\"number\"] != place + 1 or follows != parent or ", "if ", "promote/test_rules_change.py"),
    broken("rules: a promotion brings owners and nothing else", "promote/rules_change.py", "found = rules.rules.with_those_of(rules.edited, new)", "found = rules.edited", "promote/test_rules_change.py"),
)  # fmt: skip
