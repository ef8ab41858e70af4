"""What should the demo's models contain? Computed a second time, in DuckDB, from the raw files alone.

Written from the meaning of the columns, not from the models: deliveries are numbered instead of made distinct, money is
whole millionths that are rounded by hand, neighbours in time are looked up instead of windowed. Nothing is limited by
landing day, so a model that reads too few partitions differs.

`data` is the folder that `backfill_assets.demo.generate` filled. `start` and `end` are half-open days (months for the
monthly table) of the output; all history before them is read.
"""

from __future__ import annotations

from datetime import date
from pathlib import Path

import duckdb
import pyarrow as pa
from deltalake import DeltaTable


def campaign_performance(data: Path, start: date, end: date) -> pa.Table:
    """Rows of the daily model, ordered by (ds, campaign_id, channel), with its columns and types."""
    return _query(
        data,
        f"""
        SELECT * EXCLUDE (micros) FROM performance
        WHERE ds >= '{start}' AND ds < '{end}' ORDER BY ds, campaign_id, channel
        """,
    )


def with_more_columns(data: Path, start: date, end: date) -> pa.Table:
    """`campaign_performance` with what its conversions are worth, and how many were assisted or viewed through."""
    return _query(
        data,
        f"""
        WITH deliveries AS (
            SELECT *, row_number() OVER (PARTITION BY conversion_id ORDER BY landed_on) AS nth FROM conversions
        ), more AS (
            SELECT day(click_time) AS ds, campaign_id, sum((conversion_value * 100)::BIGINT)::BIGINT AS cents,
                sum(CASE WHEN assisted THEN 1 ELSE 0 END)::BIGINT AS assisted,
                sum(CASE WHEN view_through THEN 1 ELSE 0 END)::BIGINT AS viewed
            FROM deliveries WHERE nth = 1 GROUP BY ALL
        )
        SELECT p.* EXCLUDE (micros), (coalesce(cents, 0) / 100)::DECIMAL(18, 2) AS conversion_value,
            coalesce(assisted, 0) AS assisted_conversions, coalesce(viewed, 0) AS view_through_conversions
        FROM performance p LEFT JOIN more USING (ds, campaign_id)
        WHERE ds >= '{start}' AND ds < '{end}' ORDER BY ds, campaign_id, channel
        """,
    )


def cost_by_conversion_day(data: Path, start: date, end: date, *, local: bool = False) -> pa.Table:
    """(ds, campaign_id, cost_per_acquisition), the conversions on the UTC day on which they happened; `local`: on the
    day that the customer's wall clock showed."""
    at = "converted_at_local::TIMESTAMP" if local else "converted_at"
    day = f"DATE '1970-01-01' + (epoch_us({at}) // 86400000000)::INTEGER"
    return _query(
        data,
        f"""
        WITH really AS (
            SELECT {day} AS ds, campaign_id, count(DISTINCT conversion_id) AS conversions FROM conversions GROUP BY ALL
        )
        SELECT p.ds, p.campaign_id, per(p.micros, r.conversions) AS cost_per_acquisition
        FROM performance p LEFT JOIN really r USING (ds, campaign_id)
        WHERE ds >= '{start}' AND ds < '{end}' ORDER BY ds, campaign_id
        """,
    )


def roi_analysis(data: Path, start: date, end: date) -> pa.Table:
    """Rows of the daily return model, ordered by (ds, campaign_id, channel), with its columns and types."""
    return _query(
        data,
        f"""
        WITH week AS (
            SELECT p.ds, p.campaign_id, p.channel,
                sum(w.micros)::BIGINT AS micros_7d, sum(w.conversions)::BIGINT AS conversions_7d,
                sum(w.cost_per_acquisition::DOUBLE) / count(w.cost_per_acquisition) AS usual
            FROM performance p
            JOIN performance w USING (campaign_id, channel)
            WHERE w.ds <= p.ds AND date_diff('day', w.ds, p.ds) <= 6
            GROUP BY ALL
        )
        SELECT
            p.ds, p.campaign_id, p.campaign_name, p.channel, p.spend, p.conversions,
            (p.cents / 100)::DECIMAL(18, 2) AS revenue,
            CASE WHEN p.spend > 0 THEN (p.cents * 10000 - p.micros)::DOUBLE / p.micros END AS roi,
            p.cost_per_acquisition,
            money(micros_7d)::DECIMAL(18, 6) AS spend_7d,
            conversions_7d,
            per(micros_7d, conversions_7d) AS cost_per_acquisition_7d,
            CASE WHEN usual > 0 THEN p.cost_per_acquisition::DOUBLE / usual END AS acquisition_cost_index
        FROM (
            SELECT p.*, coalesce(m.cents, 0) AS cents FROM performance p LEFT JOIN acquired m USING (ds, campaign_id)
        ) p
        JOIN week USING (ds, campaign_id, channel)
        WHERE ds >= '{start}' AND ds < '{end}'
        ORDER BY ds, campaign_id, channel
        """,
    )


def campaign_trends_monthly(data: Path, start: date, end: date) -> pa.Table:
    """Rows of the monthly model, ordered by (month, campaign_id, channel), with its columns and types."""
    return _query(
        data,
        f"""
        WITH monthly AS (
            SELECT make_date(year(ds), month(ds), 1) AS month, year(ds) * 12 + month(ds) AS number,
                campaign_id, campaign_name, channel, count(DISTINCT ds) AS active_days,
                sum(impressions)::BIGINT AS impressions, sum(clicks)::BIGINT AS clicks, sum(micros)::BIGINT AS micros
            FROM performance GROUP BY ALL
        ),
        followed AS (
            SELECT *, clicks / nullif(impressions, 0) AS ctr,
                number - lag(number) OVER campaign = 1 AS follows,
                lag(impressions) OVER campaign AS was_impressions, lag(clicks) OVER campaign AS was_clicks,
                lag(micros) OVER campaign AS was_micros
            FROM monthly WINDOW campaign AS (PARTITION BY campaign_id, channel ORDER BY number)
        )
        SELECT month, campaign_id, campaign_name, channel, active_days, impressions, clicks,
            money(micros)::DECIMAL(18, 6) AS spend, ctr,
            CASE WHEN follows THEN impressions / nullif(was_impressions, 0) - 1 END AS impressions_change,
            CASE WHEN follows THEN clicks / nullif(was_clicks, 0) - 1 END AS clicks_change,
            CASE WHEN follows THEN micros / nullif(was_micros, 0) - 1 END AS spend_change,
            CASE WHEN follows THEN ctr - was_clicks / nullif(was_impressions, 0) END AS ctr_change
        FROM followed
        WHERE month >= '{start}' AND month < '{end}'
        ORDER BY month, campaign_id, channel
        """,
    )


_PERFORMANCE = """
CREATE MACRO money(micros) AS (micros // 1000000)::DECIMAL(18, 6) + (micros % 1000000)::DECIMAL(18, 6) * 0.000001;
CREATE MACRO per(micros, number) AS (  -- money a piece, halves rounded up; NULL when there is no piece
    CASE WHEN number > 0 THEN money((micros * 2 + number) // (number * 2))::DECIMAL(18, 6) END
);
CREATE MACRO day(instant) AS DATE '1970-01-01' + (epoch_us(instant) // 86400000000)::INTEGER;
CREATE TABLE once AS
    SELECT event_type, day(event_time) AS ds, campaign_id, channel, (spend * 1000000)::BIGINT AS micros
    FROM ad_events QUALIFY row_number() OVER (PARTITION BY event_id ORDER BY landed_on) = 1;
CREATE TABLE acquired AS
    SELECT ds, campaign_id, count(*) AS conversions, sum(cents)::BIGINT AS cents
    FROM (
        SELECT arg_min(day(click_time), landed_on) AS ds, arg_min(campaign_id, landed_on) AS campaign_id,
            arg_min((conversion_value * 100)::BIGINT, landed_on) AS cents
        FROM conversions GROUP BY conversion_id
    ) GROUP BY ds, campaign_id;
CREATE TABLE performance AS
    SELECT ds, campaign_id, campaign_name, o.channel,
        impressions, clicks, micros, money(micros)::DECIMAL(18, 6) AS spend,
        CASE WHEN impressions > 0 THEN clicks / impressions END AS ctr,
        per(micros, clicks) AS cpc,
        coalesce(a.conversions, 0) AS conversions,
        per(micros, a.conversions) AS cost_per_acquisition
    FROM (
        SELECT ds, campaign_id, channel, sum(micros)::BIGINT AS micros,
            sum(CASE event_type WHEN 'impression' THEN 1 ELSE 0 END)::BIGINT AS impressions,
            sum(CASE event_type WHEN 'click' THEN 1 ELSE 0 END)::BIGINT AS clicks
        FROM once GROUP BY ALL
    ) o
    LEFT JOIN acquired a USING (ds, campaign_id)
    LEFT JOIN campaigns c USING (campaign_id);
"""


def _query(data: Path, sql: str) -> pa.Table:
    with duckdb.connect(config={"threads": 2}) as db:
        for name in ("ad_events", "conversions"):
            files = DeltaTable(str(data / name)).file_uris()
            db.from_parquet(files, hive_partitioning=True).create_view(name)
        db.read_csv(str(data / "campaigns" / "*.csv")).create_view("campaigns")
        db.execute(_PERFORMANCE)
        return db.sql(sql).to_arrow_table()
