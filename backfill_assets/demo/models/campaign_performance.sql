/*
description: One row per day, campaign and channel, with what the ads did and cost, and the conversions their clicks led to.
owner: marketing-analytics@example.com
cadence: daily
start: 2024-01-01
time_column: ds
grain: [ds, campaign_id, channel]
batch_size: 270
batch_concurrency: 2
columns:
  ds: {description: "The day of the events, UTC.", type: date}
  campaign_id: {description: The campaign., type: int}
  campaign_name: {description: "Its name, from the planning tool.", type: string}
  channel: {description: "google_ads, facebook or email.", type: string}
  impressions: {description: "Ads shown, or emails delivered.", type: bigint}
  clicks: {description: Clicks on them., type: bigint}
  spend: {description: "What they cost, EUR.", type: "decimal(18,6)"}
  ctr: {description: "Clicks per impression, 0 to 1; NULL without impressions.", type: double}
  cpc: {description: "Spend per click, EUR; NULL without clicks.", type: "decimal(18,6)"}
  conversions: {description: "Conversions attributed to clicks of this day, whenever they happened.", type: bigint}
  cost_per_acquisition: {description: "Spend per conversion, EUR; NULL without conversions.", type: "decimal(18,6)"}
contract:
  semantics:
    ds: "UTC day of the event; conversions are on the day of the click they are attributed to"
    spend: "EUR, as the platforms bill it"
    conversions: "attributed to the last click, counted on its UTC day"
    cost_per_acquisition: "EUR per conversion, both by the UTC day of the click"
  late_rows: "events land up to 3 days, conversions up to 14 days after their day; later deliveries need a restatement"
  validation_owner: marketing-analytics@example.com
audits:
  - not_null: [ds, campaign_id, campaign_name, channel, impressions, clicks, spend, conversions]
  - unique_grain
  - accepted_values: {column: channel, values: [google_ads, facebook, email]}
  - range: {column: impressions, min: 0}
  - range: {column: spend, min: 0}
  - range: {column: ctr, min: 0, max: 1}
  - completeness
  - row_count: {within_percent: 20, of: prod, severity: warn}
*/
WITH events AS (
  -- Some deliveries come twice: one row an event. They land at most 3 days after their own day.
  SELECT
    event_id,
    CAST(event_time AS DATE) AS ds,
    campaign_id,
    bool_or(event_type = 'click') AS is_click,
    max(spend) AS spend
  FROM raw.ad_events
  WHERE event_time >= :start AND event_time < :end
    AND landed_on >= :start AND landed_on < date_add(:end, 3)
  GROUP BY event_id, CAST(event_time AS DATE), campaign_id
),

ads AS (
  SELECT
    ds,
    campaign_id,
    count_if(NOT is_click) AS impressions,
    count_if(is_click) AS clicks,
    CAST(sum(spend) AS DECIMAL(18, 6)) AS spend
  FROM events
  GROUP BY ds, campaign_id
),

acquisitions AS (
  -- One row a conversion, on the day of its click. They land at most 14 days after it.
  SELECT conversion_id, CAST(click_time AS DATE) AS ds, campaign_id
  FROM raw.conversions
  WHERE click_time >= :start AND click_time < :end
    AND landed_on >= :start AND landed_on < date_add(:end, 14)
  GROUP BY conversion_id, CAST(click_time AS DATE), campaign_id
),

acquired AS (
  SELECT ds, campaign_id, count(*) AS conversions
  FROM acquisitions
  GROUP BY ds, campaign_id
)

SELECT
  ads.ds,
  ads.campaign_id,
  campaigns.campaign_name,
  campaigns.channel,
  ads.impressions,
  ads.clicks,
  ads.spend,
  CAST(ads.clicks AS DOUBLE) / nullif(ads.impressions, 0) AS ctr,
  CAST(ads.spend / nullif(ads.clicks, 0) AS DECIMAL(18, 6)) AS cpc,
  coalesce(acquired.conversions, 0) AS conversions,
  CAST(ads.spend / nullif(acquired.conversions, 0) AS DECIMAL(18, 6)) AS cost_per_acquisition
FROM ads
LEFT JOIN acquired
  ON acquired.ds = ads.ds AND acquired.campaign_id = ads.campaign_id
LEFT JOIN raw.campaigns AS campaigns
  ON campaigns.campaign_id = ads.campaign_id
