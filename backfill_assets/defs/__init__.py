"""How does Dagster see a project? The only code that speaks Dagster."""
