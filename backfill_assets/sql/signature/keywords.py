"""Which words may stand in an expression that name neither a column nor a function?"""

from __future__ import annotations

from backfill_assets.sql.signature.functions import words

UNITS = words("""
    year years quarter quarters month months week weeks day days hour hours minute minutes second seconds
    millisecond milliseconds microsecond microseconds
""")
TYPES = words("""
    boolean tinyint byte smallint short int integer bigint long float real double date timestamp timestamp_ltz
    timestamp_ntz string binary decimal dec numeric
""")
PREDICATES = words("not is in like ilike rlike regexp between escape distinct from")
_VALUES = words("null true false interval date timestamp timestamp_ntz timestamp_ltz to div")
PLAIN = PREDICATES | _VALUES | UNITS | {"AND", "OR"}
