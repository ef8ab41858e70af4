"""What decides a query's rows and columns?"""

from __future__ import annotations

from backfill_assets.sql.signature.marks import Opaque
from backfill_assets.sql.signature.query import query_keys, query_signature
from backfill_assets.sql.signature.relations import Table

__all__ = ["Opaque", "Table", "query_keys", "query_signature"]
