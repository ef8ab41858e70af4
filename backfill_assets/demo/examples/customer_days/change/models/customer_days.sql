/*
description: What each customer paid on each day, less refunds.
owner: finance@example.com
start: 2024-03-01
grain: [ds, customer_id]
write: merge
updated_at: updated_at
batch_size: 7
audits:
  - not_null: [customer_id, paid]
  - row_count: {within_percent: 1, of: prod}
  - completeness
*/
SELECT
  CAST(paid_at AS DATE) AS ds,
  customer_id,
  count(*) AS payments,
  sum(CASE WHEN kind = 'refund' THEN -amount ELSE amount END) AS paid
FROM raw.payments
WHERE paid_at >= :start AND paid_at < :end
GROUP BY CAST(paid_at AS DATE), customer_id
