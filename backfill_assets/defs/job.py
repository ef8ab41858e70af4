"""How is a use case a job of Dagster? Its options are read, it acts for whoever launched, its errors are short."""

# No `from __future__ import annotations`: Dagster reads the annotation of its context, here `context_`.

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import dagster as dg

from backfill_assets.app.carry_out import Follow
from backfill_assets.app.context import Context
from backfill_assets.core.errors import BackfillError
from backfill_assets.defs.candidate_checks import tell_answers
from backfill_assets.defs.config import asked, config_fields, given
from backfill_assets.defs.failures import short_failures
from backfill_assets.defs.instance import require_lasting
from backfill_assets.defs.launcher import acting
from backfill_assets.defs.links import link_run
from backfill_assets.defs.names import local_name
from backfill_assets.defs.promotions import unreported_views
from backfill_assets.defs.runs import following, run_name
from backfill_assets.defs.safe_log import Log
from backfill_assets.plan.stages import Request
from backfill_assets.promote.obstacle import Obstacle
from backfill_assets.state.rules import PREFIX as RULES


@dataclass(frozen=True, slots=True, kw_only=True)
class Launched:
    """A run of a job: what it was asked for, on what and for whom, and where it tells what it does."""

    step: dg.OpExecutionContext
    context: Context
    """The project, acting for the account that launched."""
    said: Mapping[str, Any]
    """What the configuration says, by the options' keys; what is empty is left out."""

    @property
    def config(self) -> Mapping[str, Any]:
        """All of the configuration, as it was typed."""
        return self.step.op_config

    @property
    def request(self) -> Request:
        return asked(self.said)

    @property
    def log(self) -> Log:
        return Log(self.step)

    @property
    def name(self) -> str:
        """What the ledger calls the run."""
        return run_name(self.step.run)

    @property
    def follow(self) -> Follow:
        """Writes a build's progress to the run's log."""
        return following(self.step)

    def report_views(self) -> None:
        """Tell Dagster which views show something else now."""
        for event in unreported_views(self.context, self.step.instance):
            self.step.log_event(event)


def job(
    name: str,
    *,
    step: str,
    description: str,
    tags: Callable[[Context], Mapping[str, str]] = lambda _: {},
    tells: bool = False,
) -> Callable[[Callable[[Launched], None]], Callable[[Context], dg.JobDefinition]]:
    """Makes a function the job of a project's command. `step` and `description` say `{environment}` where it is named.
    `tells`: what is known of open plans may be something else after it, also when it fails; their checks are answered.

    The run is refused on a throw-away instance and for options that do not go together.
    """

    def of_work(work: Callable[[Launched], None]) -> Callable[[Context], dg.JobDefinition]:
        def of_project(context: Context) -> dg.JobDefinition:
            environment = context.environment
            step_name = step.format(environment=environment)

            @dg.op(
                name=local_name(context.project, step_name),
                out=dg.Out(dg.Nothing),
                config_schema=config_fields(name) or None,
            )
            def launched(context_: dg.OpExecutionContext) -> None:
                with short_failures():
                    require_lasting(context_.instance)
                    said = given(name, context_.op_config or {})
                    run = Launched(step=context_, context=acting(context, context_.run), said=said)
                    _link(run)
                    try:
                        work(run)
                    finally:
                        if tells:
                            _tell(run)

            @dg.job(
                name=local_name(context.project, name),
                description=description.format(environment=environment),
                tags=tags(context),
                executor_def=dg.in_process_executor,  # one step: it needs no process beside the run's
            )
            def whole() -> None:
                launched.alias(step_name)()  # what a configuration names is the same in all projects

            return whole

        return of_project

    return of_work


def _link(run: Launched) -> None:
    """To the page of the plan that was named, else to what waits for whom. A change of the rules has no page."""
    plan = "" if (named := str(run.said.get("plan", ""))).startswith(RULES) else named
    words = f"plan {plan} on the reviewer's page" if plan else "what waits for whom, on the reviewer's page"
    link_run(run.step.instance, run.step.run, words, *(("plan", plan) if plan else ()))


def _tell(run: Launched) -> None:
    try:
        tell_answers(run.context, run.step)
    except BackfillError as error:  # whatever came of the job itself is what its run says
        run.log.warning(f"what owners ask of open plans was not answered: {error}")


def not_moved(context: Context, obstacles: Sequence[Obstacle]) -> dg.Failure:
    """The failure of a run whose environment stays as it is; trying again would find the same."""
    listed = "\n".join(map(str, obstacles))
    return dg.Failure(
        description=f"{context.environment} was not moved; in the way:\n{listed}",
        metadata={"obstacles": len(obstacles)},
        allow_retries=False,
    )
