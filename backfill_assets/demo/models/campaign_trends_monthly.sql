/*
description: One row per month, campaign and channel, with the change since the month before.
owner: marketing-analytics@example.com
cadence: monthly
start: 2024-01-01
time_column: month
grain: [month, campaign_id, channel]
lookback: 1
batch_size: 18
columns:
  month: {description: "First day of the month, UTC.", type: date}
  campaign_id: {description: The campaign., type: int}
  campaign_name: {description: "Its name, from the planning tool.", type: string}
  channel: {description: "google_ads, facebook or email.", type: string}
  active_days: {description: "Days of the month with at least one event, 1 to 31.", type: bigint}
  impressions: {description: "Ads shown, or emails delivered.", type: bigint}
  clicks: {description: Clicks on them., type: bigint}
  spend: {description: "What they cost, EUR.", type: "decimal(18,6)"}
  ctr: {description: "Clicks per impression, 0 to 1; NULL without impressions.", type: double}
  impressions_change: {description: "Relative change since the month before (0.1 is +10 %); NULL when there was none.", type: double}
  clicks_change: {description: Relative change of clicks., type: double}
  spend_change: {description: Relative change of spend., type: double}
  ctr_change: {description: "Difference to the ctr of the month before (0.01 is one point).", type: double}
contract:
  late_rows: "a month is computed once it is over; it changes when one of its days is restated"
  validation_owner: data-science@example.com
audits:
  - not_null: [month, campaign_id, campaign_name, channel, active_days, impressions, clicks, spend]
  - unique_grain
  - accepted_values: {column: channel, values: [google_ads, facebook, email]}
  - range: {column: active_days, min: 1, max: 31}
  - range: {column: spend, min: 0}
  - range: {column: ctr, min: 0, max: 1}
  - completeness
  - row_count: {within_percent: 20, of: prod, severity: warn}
*/
WITH monthly AS (
  SELECT
    CAST(date_trunc('MONTH', ds) AS DATE) AS month,
    campaign_id,
    max(campaign_name) AS campaign_name,
    channel,
    count(*) AS active_days,
    sum(impressions) AS impressions,
    sum(clicks) AS clicks,
    CAST(sum(spend) AS DECIMAL(18, 6)) AS spend
  FROM campaign_performance
  WHERE ds >= add_months(:start, -1) AND ds < :end
  GROUP BY CAST(date_trunc('MONTH', ds) AS DATE), campaign_id, channel
),

rated AS (
  SELECT *, CAST(clicks AS DOUBLE) / nullif(impressions, 0) AS ctr
  FROM monthly
)

SELECT
  now.month,
  now.campaign_id,
  now.campaign_name,
  now.channel,
  now.active_days,
  now.impressions,
  now.clicks,
  now.spend,
  now.ctr,
  CAST(now.impressions - before.impressions AS DOUBLE) / nullif(before.impressions, 0) AS impressions_change,
  CAST(now.clicks - before.clicks AS DOUBLE) / nullif(before.clicks, 0) AS clicks_change,
  CAST(now.spend - before.spend AS DOUBLE) / CAST(nullif(before.spend, 0) AS DOUBLE) AS spend_change,
  now.ctr - before.ctr AS ctr_change
FROM rated AS now
LEFT JOIN rated AS before
  ON before.month = add_months(now.month, -1)
  AND before.campaign_id = now.campaign_id
  AND before.channel = now.channel
WHERE now.month >= :start
