/*
description: One row per order, with the gross margin by the cost that was valid on the order's day.
owner: finance@example.com
start: 2024-01-01
grain: [order_id]
write: merge
updated_at: updated_at
batch_size: 1
audits:
  - not_null: [product_id, revenue, cost, gross_margin]
  - range: {column: revenue, min: 0}
  - range: {column: cost, min: 0}
  - range: {column: gross_profit, min: 0, name: revenue_covers_cost}
  - range: {column: gross_margin, min: 0, max: 1.5}
  - row_count: {within_percent: 0, of: prod}
  - completeness
*/
WITH priced AS (
  SELECT
    o.order_date AS ds,
    o.order_id,
    o.product_id,
    o.quantity,
    CAST(o.quantity * o.unit_price AS DECIMAL(18,2)) AS revenue,
    CAST(o.quantity * c.unit_cost AS DECIMAL(18,2)) AS cost
  FROM raw.orders AS o
  LEFT JOIN raw.product_costs AS c
    ON c.product_id = o.product_id
    AND c.effective_from <= o.order_date
    AND (o.order_date < c.effective_to OR c.effective_to IS NULL)
  WHERE o.order_date >= :start AND o.order_date < :end
)
SELECT
  ds,
  order_id,
  product_id,
  quantity,
  revenue,
  cost,
  CAST(revenue - cost AS DECIMAL(18,2)) AS gross_profit,
  CAST((revenue - cost) / revenue AS DECIMAL(9,6)) AS gross_margin
FROM priced
