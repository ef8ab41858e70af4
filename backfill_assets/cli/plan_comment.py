"""What does a comment of a pull request say? A plan and all that is known of it, as Markdown of a length that fits."""

from __future__ import annotations

from dataclasses import dataclass

from backfill_assets.app.preview import Preview
from backfill_assets.cli.impact import impact_markdown
from backfill_assets.cli.maintenance import maintenance_markdown
from backfill_assets.cli.markdown_limit import fitting
from backfill_assets.cli.plan_brief import brief
from backfill_assets.cli.plan_lineage import plan_lineage
from backfill_assets.cli.plan_markdown import plan_markdown
from backfill_assets.core.errors import UsageError
from backfill_assets.core.escaping import markdown
from backfill_assets.core.model import Project
from backfill_assets.plan.leases import Claim
from backfill_assets.promote.lifecycle import collision_text, parallel_plan_text, plan_text


@dataclass(frozen=True, slots=True, kw_only=True)
class Links:
    """Where pages of plans are served: URLs with `{plan}` where its id goes; "": nowhere."""

    page: str = ""
    packet: str = ""

    def __post_init__(self) -> None:
        for name, url in (("page", self.page), ("packet", self.packet)):
            if url and not (
                url.startswith(("https://", "http://")) and url.isprintable() and not set(url) & set(' ()<>"')
            ):
                raise UsageError(
                    f"--{name}-url {url!r} is no link",
                    why="it begins with https:// and has no blanks, brackets or quotes",
                    fix="write it like https://plans.example.com/{plan}",
                )


def plan_comment(found: Preview, project: Project, links: Links) -> str:
    """At most 60,000 characters. What is linked has to be there: pages of a plan are, once it is stored."""
    plan = found.plan
    said = (*_beside(found.claim), *(found.amendment.words if found.amendment else ()), *found.notes)
    parts = [
        plan_markdown(
            plan,
            project,
            found.estimate,
            gaps=found.blocking,
            ahead=found.ahead,
            first=brief(plan, project, found.estimate, found.impacts, len(found.blocking) + len(found.ahead)),
        )
        + impact_markdown(plan, found.impacts)
        + maintenance_markdown(found.maintenance),
        *(f"**{markdown(note)}.**" for note in said),
        *(_paragraph(str(fault)) for fault in found.faults),
    ]
    if lineage := plan_lineage(plan, project, found.impacts):
        parts.append("\n".join(["### What it touches", "", *lineage]))
    if shown := _links(links, found.claim.continues.id if found.claim.continues else ""):
        parts.append(shown)
    return fitting("\n\n".join(parts))


def _beside(claim: Claim) -> list[str]:
    """How it stands to plans that are open."""
    said = [collision_text(one) for one in claim.collisions]
    said += [parallel_plan_text(one) for one in claim.beside]
    return [*said, f"This is what is left of {plan_text(claim.continues)}"] if claim.continues else said


def _paragraph(text: str) -> str:
    """What is wrong, and the remedy in the next line."""
    first, *rest = text.splitlines()
    return "\\\n".join([f"**{markdown(first)}**", *(markdown(line.strip()) for line in rest)])


def _links(links: Links, stored: str) -> str:
    told = [
        f"[{name}]({url.replace('{plan}', stored)})"
        for name, url in (("The plan's page", links.page), ("Its evidence packet", links.packet))
        if url and (stored or "{plan}" not in url)
    ]
    if not told and (links.page or links.packet):
        return "`backfill apply` stores the plan: from then on it has a page and a packet."
    return " · ".join(told)
