"""What does each campaign return, day by day and over the last seven days?"""

from datetime import timedelta

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from backfill_assets import model


@model(
    description="One row per day, campaign and channel: its cost, its return, and how that compares to its week.",
    owner="growth@example.com",
    start="2024-01-01",
    cadence="daily",
    grain=["ds", "campaign_id", "channel"],
    lookback=6,
    batch_size=270,
    batch_concurrency=2,
    upstream={"conversions": "raw.conversions"},
    columns={
        "ds": {"description": "The day of the clicks, UTC.", "type": "date"},
        "campaign_id": {"description": "The campaign.", "type": "int"},
        "campaign_name": {"description": "Its name, from the planning tool.", "type": "string"},
        "channel": {"description": "google_ads, facebook or email.", "type": "string"},
        "spend": {"description": "What its ads cost, EUR.", "type": "decimal(18,6)"},
        "conversions": {"description": "Conversions attributed to clicks of this day.", "type": "bigint"},
        "revenue": {"description": "What those conversions are worth, EUR.", "type": "decimal(18,2)"},
        "roi": {"description": "(revenue - spend) / spend; NULL without spend.", "type": "double"},
        "cost_per_acquisition": {"description": "Spend per conversion, EUR; NULL without.", "type": "decimal(18,6)"},
        "spend_7d": {"description": "Spend of this day and the six before, EUR.", "type": "decimal(18,6)"},
        "conversions_7d": {"description": "Conversions of the same seven days.", "type": "bigint"},
        "cost_per_acquisition_7d": {
            "description": "spend_7d per conversions_7d, EUR; NULL without conversions.",
            "type": "decimal(18,6)",
        },
        "acquisition_cost_index": {
            "description": "cost_per_acquisition relative to its mean over the seven days; 1 is as usual.",
            "type": "double",
        },
    },
    contract={
        "semantics": {
            "revenue": "EUR, value of conversions by the UTC day of their click",
            "roi": "a ratio: 0.5 is half of the cost on top",
            "cost_per_acquisition": "EUR per conversion, both by the UTC day of the click",
        },
        "late_rows": "conversions land up to 14 days after the click; later deliveries need a restatement",
        "validation_owner": "finance@example.com",
    },
    audits=[
        {"not_null": ["ds", "campaign_id", "channel", "spend", "conversions", "revenue", "spend_7d", "conversions_7d"]},
        "unique_grain",
        {"accepted_values": {"column": "channel", "values": ["google_ads", "facebook", "email"]}},
        {"range": {"column": "revenue", "min": 0}},
        {"range": {"column": "roi", "min": -1}},
        "completeness",
        {"row_count": {"within_percent": 20, "of": "prod", "severity": "warn"}},
    ],
)
def roi_analysis(campaign_performance: DataFrame, conversions: DataFrame, interval) -> DataFrame:
    """`campaign_performance` holds the interval and six days before; `conversions` is the whole source."""
    start, end = interval.start.date(), interval.end.date()
    earned = (
        conversions.where(F.to_date("click_time") >= F.lit(start))
        .where(F.to_date("click_time") < F.lit(end))
        .where(F.col("landed_on") >= F.lit(start))
        .where(F.col("landed_on") < F.lit(end + timedelta(days=14)))  # they land at most 14 days after the click
        .groupBy("conversion_id", F.to_date("click_time").alias("ds"), "campaign_id", "channel")
        .agg(F.max("conversion_value").alias("conversion_value"))  # delivered twice now and then
        .groupBy("ds", "campaign_id", "channel")
        .agg(F.sum("conversion_value").alias("revenue"))
    )
    week = (
        Window.partitionBy("campaign_id", "channel").orderBy(F.datediff("ds", F.lit("2024-01-01"))).rangeBetween(-6, 0)
    )
    performance = campaign_performance.select(
        "ds",
        "campaign_id",
        "campaign_name",
        "channel",
        "spend",
        "conversions",
        "cost_per_acquisition",
        F.sum("spend").over(week).cast("decimal(18,6)").alias("spend_7d"),
        F.sum("conversions").over(week).alias("conversions_7d"),
        F.avg(F.col("cost_per_acquisition").cast("double")).over(week).alias("usual_cost"),
    ).where(F.col("ds") >= F.lit(start))
    money = performance.join(earned, on=["ds", "campaign_id", "channel"], how="left").withColumn(
        "revenue", F.coalesce(F.col("revenue"), F.lit(0)).cast("decimal(18,2)")
    )
    spent = F.when(F.col("spend") > 0, F.col("spend").cast("double"))
    acquired = F.when(F.col("conversions_7d") > 0, F.col("conversions_7d"))
    return money.select(
        "ds",
        "campaign_id",
        "campaign_name",
        "channel",
        "spend",
        "conversions",
        "revenue",
        ((F.col("revenue") - F.col("spend")).cast("double") / spent).alias("roi"),
        "cost_per_acquisition",
        "spend_7d",
        "conversions_7d",
        (F.col("spend_7d") / acquired).cast("decimal(18,6)").alias("cost_per_acquisition_7d"),
        (F.col("cost_per_acquisition").cast("double") / F.when(F.col("usual_cost") > 0, F.col("usual_cost"))).alias(
            "acquisition_cost_index"
        ),
    )
