"""What does a query say, in Spark's SQL? Parsing, signatures, types, lineage, order; without Spark."""
