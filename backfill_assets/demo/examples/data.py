"""Which data do the worked examples run on? Small CSV files, the same on every machine."""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import date, datetime, timedelta
from pathlib import Path
from random import Random

Rows = Sequence[Sequence[object]]
DOUBLED = (date(2024, 3, 4), date(2024, 3, 7))
"""First and last day of doubled quantities in `fact_order_items`."""


def write_data(example: str, folder: Path) -> None:
    """Write the example's source files under `folder/data`, and those that the change brings under `folder/change`."""
    _WRITERS[example](folder)


def _events(folder: Path) -> None:
    """Ten days of 40 sessions; one event in twelve is delivered again later, with the duration corrected."""
    random, header = (
        Random(1),
        ["event_id", "event_time", "received_at", "session_id", "user_id", "kind", "duration_ms"],
    )
    event_id = session_id = 0
    for day in _days(date(2024, 3, 1), 10):
        rows: list[list[object]] = []
        for _ in range(40):
            session_id += 1
            user, at = random.randint(1, 500), _at(day, random.randint(0, 80_000))
            for _ in range(random.randint(1, 9)):
                event_id += 1
                received = at + timedelta(seconds=random.randint(1, 600))
                row: list[object] = [event_id, at, received, session_id, user, random.choice(["view", "click", "buy"])]
                duration = random.randint(20, 4000)
                rows.append([*row, duration])
                if event_id % 12 == 0:
                    rows.append([*row[:2], received + timedelta(hours=1), *row[3:], duration + 5])
                at += timedelta(seconds=random.randint(1, 400))
        random.shuffle(rows)
        _write(folder / "data" / "events" / f"{day}.csv", header, rows)


def _orders(folder: Path) -> None:
    """Ninety days of orders of 20 products, and the products' costs in periods that touch; the last one is open."""
    random, order_id = Random(2), 0
    prices = {product: random.randint(800, 9000) for product in range(1, 21)}
    costs: list[list[object]] = []
    for product, price in prices.items():
        since = date(2023, 6, 1)
        while True:
            until = since + timedelta(days=random.randint(20, 120))
            over = until > date(2024, 3, 20)
            cost = price * random.randint(30, 95) // 100
            costs.append([product, since, "" if over else until, f"{cost / 100:.2f}"])
            if over:
                break
            since = until
    _write(
        folder / "data" / "product_costs" / "costs.csv",
        ["product_id", "effective_from", "effective_to", "unit_cost"],
        costs,
    )
    rows: list[list[object]] = []
    for day in _days(date(2024, 1, 1), 90):
        for _ in range(random.randint(5, 12)):
            order_id += 1
            product = random.randint(1, 20)
            rows.append([order_id, day, product, random.randint(1, 5), f"{prices[product] / 100:.2f}"])
    _write(
        folder / "data" / "orders" / "orders.csv",
        ["order_id", "order_date", "product_id", "quantity", "unit_price"],
        rows,
    )


def _payments(folder: Path) -> None:
    """Seven days of payments, a tenth of them refunds; some customers never get one."""
    random, rows = Random(3), list[list[object]]()
    for day in _days(date(2024, 3, 1), 7):
        for _ in range(300):
            customer, at = random.randint(1, 80), _at(day, random.randint(0, 86_399))
            refund = customer % 2 == 0 and random.random() < 0.2
            amount = random.randint(100, 20_000) / 100
            rows.append([len(rows) + 1, at, customer, "refund" if refund else "payment", f"{amount:.2f}"])
    header = ["payment_id", "paid_at", "customer_id", "kind", "amount"]
    _write(folder / "data" / "payments" / "payments.csv", header, rows)


def _order_items(folder: Path) -> None:
    """Ten days of items; in four of them the eastern warehouse's quantities are doubled, and delivered again."""
    random, order_id = Random(4), 0
    header = ["order_id", "item_id", "order_date", "warehouse", "quantity", "price"]
    for day in _days(date(2024, 3, 1), 10):
        right: list[Sequence[object]] = []
        for _ in range(60):
            order_id += 1
            warehouse = random.choice(["east", "west"])
            right += [
                [order_id, item, day, warehouse, random.randint(1, 6), f"{random.randint(100, 9000) / 100:.2f}"]
                for item in range(1, random.randint(2, 5))
            ]
        place, name = Path("data") / "order_items", f"{day}.csv"
        if DOUBLED[0] <= day <= DOUBLED[1]:
            wrong = [[*r[:4], int(str(r[4])) * (2 if r[3] == "east" else 1), r[5]] for r in right]
            _write(folder / place / name, header, wrong)
            _write(folder / "change" / place / name, header, right)
        else:
            _write(folder / place / name, header, right)


_WRITERS: Mapping[str, Callable[[Path], None]] = {
    "events": _events,
    "fact_orders_daily": _orders,
    "customer_days": _payments,
    "fact_order_items": _order_items,
}
EXAMPLES = tuple(_WRITERS)


def _days(first: date, count: int) -> Iterable[date]:
    return (first + timedelta(days=n) for n in range(count))


def _at(day: date, seconds: int) -> datetime:
    return datetime(day.year, day.month, day.day) + timedelta(seconds=seconds)


def _write(file: Path, header: Sequence[str], rows: Rows) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    with file.open("w", newline="", encoding="utf-8") as out:
        writer = csv.writer(out, lineterminator="\n")
        writer.writerow(header)
        writer.writerows([f"{v:%Y-%m-%dT%H:%M:%SZ}" if isinstance(v, datetime) else v for v in row] for row in rows)
