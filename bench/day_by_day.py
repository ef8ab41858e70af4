"""What does a loop over days cost, in a session that is warm already? Random days and months timed one by one.

    python bench/day_by_day.py --data DATA --complete WAREHOUSE --warehouse LOOP --days 30

Each day is computed, written with `replaceWhere` and audited, for both daily tables, with the hand-written job's SQL
and audits. `--complete` is the hand-written job's warehouse, from which the second and third table read the first: the
loop is spared its own log of many commits. Prints the seconds of each day and month as JSON.
"""

from __future__ import annotations

import argparse
import json
import random
import time
from datetime import date, timedelta
from pathlib import Path

from handwritten_job import END, PERFORMANCE_TABLE, ROI_TABLE, START, TRENDS_TABLE, Job, Table, open_session

WARM_UP = 3
"""Days that are made but not counted."""


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--complete", type=Path, required=True)
    parser.add_argument("--warehouse", type=Path, required=True)
    parser.add_argument("--days", type=int, default=30)
    parser.add_argument("--months", type=int, default=3)
    parser.add_argument("--seed", type=int, default=1)
    chosen = parser.parse_args()
    began = time.perf_counter()
    spark = open_session(chosen.warehouse)
    opened = time.perf_counter() - began
    job = Job(spark, chosen.data, chosen.warehouse, chosen.complete.resolve() / PERFORMANCE_TABLE.name)
    picked = random.Random(chosen.seed)
    offsets = picked.sample(range((END - START).days), WARM_UP + chosen.days)
    days = [_day(job, START + timedelta(days=n)) for n in offsets][WARM_UP:]
    months = [_month(job, n) for n in picked.sample(range(17), 1 + chosen.months)][1:]
    print(json.dumps({"session": opened, "days": days, "months": months}))


def _day(job: Job, day: date) -> float:
    began = time.perf_counter()
    for table in (PERFORMANCE_TABLE, ROI_TABLE):
        _unit(job, table, day, day + timedelta(days=1))
    return time.perf_counter() - began


def _month(job: Job, number: int) -> float:
    began = time.perf_counter()
    first = date(2024 + number // 12, number % 12 + 1, 1)
    _unit(job, TRENDS_TABLE, first, date(2024 + (number + 1) // 12, (number + 1) % 12 + 1, 1))
    return time.perf_counter() - began


def _unit(job: Job, table: Table, start: date, end: date) -> None:
    condition = f"{table.day} >= DATE '{start}' AND {table.day} < DATE '{end}'"
    job.write(table, start, end, replace=condition)
    job.audit(table, 1, where=condition)


if __name__ == "__main__":
    main()
