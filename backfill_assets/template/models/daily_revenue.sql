/*
description: One row per day with at least one order.
owner: analytics@example.com
cadence: daily
start: 2024-01-01
grain: [ds]
columns:
  ds: The day of the order, UTC.
  orders: {description: How many orders., type: bigint}
  revenue: Sum of the orders' amounts.
audits:
  - not_null: [ds, revenue]
  - range: {column: orders, min: 1}
  - completeness
*/
SELECT
  CAST(ordered_at AS DATE) AS ds,
  count(*) AS orders,
  sum(amount) AS revenue
FROM shop.orders
WHERE ordered_at >= :start AND ordered_at < :end
GROUP BY CAST(ordered_at AS DATE)
