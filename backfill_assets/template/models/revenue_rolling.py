from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from backfill_assets import model


@model(
    owner="analytics@example.com",
    start="2024-01-01",
    grain=["ds"],
    lookback=6,  # each day also reads the six days before it
    columns={"ds": "The day, UTC.", "revenue_7d": "Revenue of the day and the six before it."},
    audits=[{"not_null": ["revenue_7d"]}, "completeness"],
)
def revenue_rolling(daily_revenue: DataFrame, interval) -> DataFrame:
    """Revenue over seven days. `daily_revenue` holds the interval and the lookback; only the interval is returned."""
    day = F.unix_date("ds")
    week = Window.orderBy(day).rangeBetween(-6, 0)
    rolling = daily_revenue.select("ds", F.sum("revenue").over(week).alias("revenue_7d"))
    return rolling.where((F.col("ds") >= interval.start.date()) & (F.col("ds") < interval.end.date()))
