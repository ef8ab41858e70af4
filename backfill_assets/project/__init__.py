"""What do the project's files say? Models, sources and consumers, read without Spark or Dagster."""
