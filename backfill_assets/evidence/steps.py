"""Which steps does a safe backfill have? Eleven, each with its commands and what to look at before the next one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class RunbookStep:
    """One step. Commands are what a shell takes; a `look` is a sentence."""

    title: str
    commands: tuple[str, ...]
    look: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Words:
    """What is put into the commands of a plan."""

    plan: str = "PLAN"
    """Its id."""
    options: str = ""
    """What asks for it, as a shell takes it: `--forward-only 2024-06-01`."""
    back_to: str = "RELEASE"
    """The release to go back to, and which models do; without a release: to what was shown before the last change."""
    place: str = "prod"


def steps(words: Words) -> tuple[RunbookStep, ...]:
    """The eleven steps, in order, with these words."""
    plan, place = words.plan, words.place
    return (
        RunbookStep(
            title="Say what changes, and why",
            commands=(_with("backfill plan", words.options),),
            look="The kind of change of each model, the intervals, the smallest window, time and money. Give the reason"
            " to `apply` with `--why`.",
        ),
        RunbookStep(
            title="Know what has to be known",
            commands=(_with("backfill preflight", words.options),),
            look="No finding blocks: owners, keys, late rows, timestamps, sources that cover the window, criteria of"
            " acceptance.",
        ),
        RunbookStep(
            title="Tell those who read it",
            commands=("backfill consumers",),
            look="The list is confirmed, and whoever wants notice has had it: the draft of the message is in the"
            " evidence, the note for consumers in the runbook.",
        ),
        RunbookStep(
            title="Know the way back",
            commands=("backfill status", "backfill releases"),
            look=f"What {place} shows now is complete; write down the newest release: that is where a rollback goes.",
        ),
        RunbookStep(
            title="Try a sample",
            commands=(_with("backfill apply", words.options, "--sample 3"),),
            look="The sample's audits are green, and what the rest takes fits into the time that there is.",
        ),
        RunbookStep(
            title=f"Build beside {place}",
            commands=(_with("backfill apply", words.options),),
            look=f"Every interval is green. {place} shows what it showed. After a failure the same command goes on.",
        ),
        RunbookStep(
            title="Read the audits",
            commands=("backfill status", f"backfill evidence {plan}"),
            look="No blocking audit is red, and each warning is understood.",
        ),
        RunbookStep(
            title="Compare old and new",
            commands=(f"backfill diff {plan}", f"backfill consumers --check --plan {plan}"),
            look="What should move moved, nothing else did, and the readers' own queries give plausible answers.",
        ),
        RunbookStep(
            title="Let the owners approve",
            commands=("backfill plans --waiting-for ''", f"backfill approve {plan} --reason 'why it may be shown'"),
            look="Each owner approved exactly these rows, and every finding is accepted by its name or mended.",
        ),
        RunbookStep(
            title=f"Switch {place}",
            commands=(f"backfill promote {plan}",),
            look="All models moved in one commit. Send the message, now with the time of activation.",
        ),
        RunbookStep(
            title="Watch, and go back if you must",
            commands=(
                "backfill watch",
                f"backfill verify {plan}",
                _with("backfill rollback", words.back_to, "--dry-run"),
                _with("backfill rollback", words.back_to, "--reason 'what was wrong'"),
            ),
            look="The watch closes quiet; the packet verifies. The last two commands are the way back: first what it"
            " would do, then the move of pointers. Nothing is computed again, save days that came since.",
        ),
    )


def generic() -> str:
    """The steps as Markdown, with placeholders: what docs/runbook.md says."""
    lines: list[str] = []
    for number, step in enumerate(steps(Words()), 1):
        lines += [f"### {number}. {step.title}", "", "```console", *(f"$ {c}" for c in step.commands), "```", ""]
        lines += [step.look, ""]
    return "\n".join(lines).rstrip()


def _with(command: str, *more: str) -> str:
    return " ".join([command, *filter(None, more)])


def shell(commands: Sequence[str]) -> list[str]:
    """The commands as an indented block, which no text in them can end."""
    return [f"    {command}" for command in commands]
