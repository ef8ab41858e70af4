/*
description: One row per item of an order.
owner: logistics@example.com
start: 2024-03-01
grain: [order_id, item_id]
write: merge
updated_at: updated_at
batch_size: 10
audits:
  - not_null: [warehouse, quantity, price]
  - range: {column: quantity, min: 0}
  - aggregate: {metric: sum(quantity), min: 400, max: 700, name: total_quantity, severity: warn}
  - row_count: {within_percent: 1, of: prod}
  - completeness
*/
SELECT order_date AS ds, order_id, item_id, warehouse, quantity, price
FROM raw.order_items
WHERE order_date >= :start AND order_date < :end
