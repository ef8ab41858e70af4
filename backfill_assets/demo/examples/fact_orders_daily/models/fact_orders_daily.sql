/*
description: One row per order.
owner: finance@example.com
start: 2024-01-01
grain: [order_id]
write: merge
updated_at: updated_at
batch_size: 30
audits:
  - not_null: [product_id, revenue]
  - range: {column: revenue, min: 0}
  - completeness
*/
SELECT
  o.order_date AS ds,
  o.order_id,
  o.product_id,
  o.quantity,
  CAST(o.quantity * o.unit_price AS DECIMAL(18,2)) AS revenue
FROM raw.orders AS o
WHERE o.order_date >= :start AND o.order_date < :end
