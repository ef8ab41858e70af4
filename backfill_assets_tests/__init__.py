"""The project's tests. `python -m backfill_assets_tests` runs them and every other check."""
