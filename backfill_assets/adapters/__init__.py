"""How is it done with Spark and Delta? The only code that speaks to either."""
