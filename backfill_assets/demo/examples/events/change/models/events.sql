/*
description: One row per event. An event that was delivered twice counts as it was delivered last.
owner: product-analytics@example.com
start: 2024-03-01
grain: [event_id]
write: merge
dedupe: {order_by: [received_at desc]}
updated_at: updated_at
batch_size: 2
audits:
  - not_null: [event_time, session_id]
  - row_count: {within_percent: 2, of: prod}
  - reconcile: {metric: "percentile(duration_ms, 0.5)", of: prod, name: same_median_duration}
  - range: {column: session_length_sec, min: 0, max: 86400}
  - completeness
*/
SELECT
  CAST(event_time AS DATE) AS ds,
  event_id,
  event_time,
  received_at,
  session_id,
  user_id,
  kind,
  duration_ms,
  unix_timestamp(max(event_time) OVER (PARTITION BY session_id, CAST(event_time AS DATE)))
    - unix_timestamp(min(event_time) OVER (PARTITION BY session_id, CAST(event_time AS DATE))) AS session_length_sec
FROM raw.events
WHERE event_time >= :start AND event_time < :end
