"""Is what the product says of an edit true? Random edits of models, judged by the product and run on small tables.

Not a test module: `python -m backfill_assets_tests.fuzz --help`. What it found last is in docs/categories.md.
"""
