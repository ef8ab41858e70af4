"""When is something tried again? After an error that may pass, with backoff, as often as the model says."""

from __future__ import annotations

from collections.abc import Callable

from tenacity import RetryCallState, Retrying, retry_if_exception, wait_exponential_jitter

from backfill_assets.build.worker import Worker
from backfill_assets.core.errors import BackfillError, EngineDiedError, EngineOutOfMemoryError
from backfill_assets.core.intervals import Interval


def persist(worker: Worker, interval: Interval, retries: int, attempt_it: Callable[[int], None]) -> None:
    """Do it, given the number of the attempt, until it succeeds. Raises its last error: one that will not pass, or
    after this many retries."""
    deaths = 0

    def enough(state: RetryCallState) -> bool:
        nonlocal deaths  # a dead engine is no fault of the batch: another one is opened, a limited number of times
        deaths += isinstance(state.outcome.exception() if state.outcome else None, EngineDiedError)
        return state.attempt_number - deaths > retries

    for attempt in Retrying(
        retry=retry_if_exception(lambda error: _may_pass(worker, error, interval)),
        stop=enough,
        wait=wait_exponential_jitter(initial=1, max=60),
        sleep=worker.bench.sleep,
        before_sleep=lambda state: worker.tell_failed(interval, _error(state), again=True),
        reraise=True,
    ):
        with attempt:
            attempt_it(attempt.retry_state.attempt_number)


def _may_pass(worker: Worker, error: BaseException, interval: Interval) -> bool:
    if isinstance(error, EngineOutOfMemoryError) and worker.job.model.cadence.count(interval) > 1:
        return False  # the same again would end the next engine as well: it is divided
    return isinstance(error, BackfillError) and error.retryable and not worker.bench.stop.is_set()


def _error(state: RetryCallState) -> str:
    return str(state.outcome.exception()) if state.outcome else ""
