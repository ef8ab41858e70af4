"""What does a person read of a packet? One HTML page without any request to elsewhere, from a template."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from backfill_assets.core.escaping import visible
from backfill_assets.core.intervals import Ranges, utc
from backfill_assets.core.wording import amount
from backfill_assets.evidence import formatting, plot
from backfill_assets.evidence.columns import ColumnView, column_views
from backfill_assets.evidence.notes import cutover_message
from backfill_assets.evidence.readers import answers, impact_on, moved_in, reruns
from backfill_assets.evidence.sentences import (
    accepted_by,
    cadence,
    confirmed,
    in_words,
    partial,
    what_changed,
)
from backfill_assets.evidence.shape import Check, ModelPart, Packet, Range, Section
from backfill_assets.evidence.value_changes import ValueChange, compared, row_series, value_changes, value_series
from backfill_assets.state.required_approvals import titled

if TYPE_CHECKING:
    from jinja2 import Environment
    from markupsafe import Markup

CHARTS = 5
"""How many charts a model has at most."""
KINDS = {
    "new": "new table", "changed": "computed again", "restated": "corrected days", "forward": "new rules from a day on",
    "extended": "more days",
    "relisted": "other columns", "returned": "shown once before",
}  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Chart:
    """A drawing and its title."""

    title: str
    note: str
    svg: str
    differs: bool
    fresh: bool
    """Of a column that is new: there is nothing before."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelView:
    """A model, ready for the template."""

    part: ModelPart
    kind: str
    sentences: list[str]
    partial: list[str]
    when: str
    band: str
    legend: list[tuple[str, str]]
    charts: list[Chart]
    moves: list[ValueChange]
    columns: list[ColumnView]
    samples: list[Section]
    diff: list[tuple[str, str]]
    checks: list[Check]


def page(packet: Packet) -> str:
    """The whole page."""
    return _template().render(
        packet=packet,
        models=[model_view(m, packet) for m in packet.models],
        message=cutover_message(packet),
        confirmed=confirmed(packet),
        glance=_glance(packet),
        sections=_sections(packet),
        impacts={c.name: impact_on(packet, c.name) for c in packet.consumers.readers},
        reruns=[(rerun, moved_in(rerun)) for rerun in reruns(packet)],
        answers=answers(packet),
        needed=[(titled(n.owner, n.roles), n) for n in packet.needed],
        findings=[(finding, accepted_by(packet, finding)) for finding in packet.findings],
    )


def _glance(packet: Packet) -> dict[str, tuple[str, str]]:
    """The four answers, each a big word and a small one."""
    days = [amount(m.ranges.count, cadence(m)) for m in packet.models if m.ranges.count]
    affected = [c for c in packet.consumers.readers if c.affected]
    blocking = [c for c in packet.checks if c.blocking and c.failures]
    warned = [c for c in packet.checks if not c.blocking and c.failures]
    good = len(packet.checks) - len(blocking) - len(warned)
    people = list(dict.fromkeys(a.by for a in packet.approvals if not a.doubt))
    return {
        "changed": (
            days[0] if days else "nothing computed",
            f"of {formatting.few([m.model for m in packet.models], 3)}",
        ),
        "depends": (
            formatting.count(len(affected), "reader"),
            formatting.few([c.name for c in affected], 4) or "none is listed",
        ),
        "tests": (
            f"{good} of {len(packet.checks)} passed" if packet.checks else "no tests",
            f"{formatting.count(len(blocking), 'failure')}, {formatting.count(len(warned), 'warning')}",
        ),
        "accepted": (
            formatting.few(people, 2) or "nobody yet",
            formatting.count(sum(len(a.accepted) for a in packet.approvals if not a.doubt), "accepted difference")
            if people
            else "",
        ),
    }


def model_view(m: ModelPart, packet: Packet) -> ModelView:
    """What a page shows of a model."""
    computed, shown, kept, missing = (
        Ranges.of_plain(r) for r in (m.ranges.recomputed, m.ranges.shown, m.ranges.kept, m.ranges.missing)
    )
    whole = (computed | shown | kept | missing).span
    parts = [
        ("made", computed & shown, "computed by this plan"),
        ("there", shown - computed, "computed before, shown with it"),
        ("kept", kept, "stays as it was"),
        ("lacking", missing, "not there"),
    ]
    series = [*value_series(packet.data_diff, m.model), *([rows] if (rows := row_series(m)) else [])]
    return ModelView(
        part=m,
        kind=KINDS[m.kind],
        sentences=what_changed(m, packet),
        partial=partial(m),
        when=in_words(m, computed) if computed else in_words(m, shown) if shown else "nothing",
        band=plot.band(whole, [(name, some) for name, some, _ in parts]) if whole else "",
        legend=[(name, f"{text}: {in_words(m, some)}") for name, some, text in parts if some],
        charts=[
            Chart(
                title=plot.title(s),
                note=plot.note(s),
                svg=plot.chart(s),
                fresh=s.fresh,
                differs=not s.fresh and s.old != s.new,
            )
            for s in series[:CHARTS]
        ],
        moves=value_changes(packet.data_diff, m.model),
        columns=column_views(m, compared(packet.data_diff, m.model)),
        samples=list((compared(packet.data_diff, m.model) or {}).get("samples", ()))[:8],
        diff=[(_line_kind(line), line) for line in m.code.diff.splitlines()],
        checks=[c for c in packet.checks if c.model == m.model],
    )


def _line_kind(line: str) -> str:
    if line.startswith(("---", "+++", "@@")):
        return "at"
    return {"+": "plus", "-": "minus"}.get(line[:1], "")


def _sections(packet: Packet) -> list[tuple[str, str, Any]]:
    """What other parts of the system say in their own form, with a title and an explanation."""
    found: list[tuple[str, str, Any]] = [
        (
            "Tables that were left as they are",
            "Whether they would come out the same if they were computed again.",
            packet.kept and packet.kept.document,
        )
    ]
    found += [(f"Further proof: {kind}", "", proof.document) for kind, proof in packet.proofs.items()]
    return [(title, text, value) for title, text, value in found if value]


@cache
def _template() -> Any:
    return html_templates().from_string((files("backfill_assets.evidence") / "packet.html.j2").read_text())


def html_templates(package: str = "") -> Environment:
    """How pages are made of templates (those in the folder `templates` of a package): whatever is put into one is text
    that nothing obeys."""
    from jinja2 import Environment, PackageLoader, StrictUndefined

    made: Environment = Environment(
        loader=PackageLoader(package) if package else None,
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=_inert,
    )
    made.filters |= {
        "moment": _moment,
        "day": _day,
        "number": formatting.number,
        "size": formatting.size,
        "listed": formatting.listed,
        "percent": formatting.percent,
        "said": _said,
        "interval": _interval,
        "breakable": _breakable,
    }
    made.tests["mapping_like"] = lambda value: isinstance(value, Mapping)
    made.tests["list_like"] = lambda value: isinstance(value, Sequence) and not isinstance(value, str)
    return made


def _inert(value: object) -> object:
    """What is put into the page, with its control characters visible; autoescape does the rest."""
    from markupsafe import Markup

    if isinstance(value, Markup):
        return Markup(visible(value))
    return visible(value) if isinstance(value, str) else value


def _breakable(text: str) -> Markup:
    """Names may go on in the next line after an underscore."""
    from markupsafe import Markup, escape

    return Markup(str(escape(text)).replace("_", "_<wbr>"))


def _moment(text: str) -> str:
    return formatting.moment(utc(text))


def _day(text: str) -> str:
    return formatting.day(utc(text))


def _interval(pair: Range) -> str:
    return str(Ranges.of_plain([pair])).replace("..", " to ")


def _said(value: object) -> str:
    """A plain value of somebody else's section, for a reader: instants as dates, names without underscores."""
    if isinstance(value, bool) or value is None:
        return {True: "yes", False: "no", None: "—"}[value]
    if isinstance(value, int | float):
        return formatting.number(value)
    text = str(value)
    return (
        formatting.moment(utc(text)) if re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?\+00:00", text) else text
    )
