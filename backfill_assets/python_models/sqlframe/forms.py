"""What of PySpark is proved to be the same in SQL? Everything else makes a Python model opaque.

`spark/test_python_forms.py` runs every entry twice on the same rows (NULLs, ties, mixed case, text that looks like a
number): as PySpark, and as the SQL that it is compiled to. An entry that is not run, or that differs, fails it.
"""

from __future__ import annotations

# A parameter is one letter, after its name where it may be given by name; `?` may be left out, `*` any number of them.
# Lower case: a column or its name; the letter says which of the test's columns it is run over (COLUMNS there).
# Upper case: S text, I integer, B true or false, all as they are written; L a literal or a column; K a column, its name
# or an integer; X a column, its name or a number, which is a double then.
SCALARS: dict[str, str] = {
    # numbers
    "abs": "n", "sqrt": "n", "cbrt": "n", "exp": "n", "expm1": "n", "ln": "n", "log10": "n", "log2": "n", "log1p": "n",
    "sin": "n", "cos": "n", "tan": "n", "atan": "n", "degrees": "n", "radians": "n", "atan2": "X X", "hypot": "X X",
    "pow": "X X", "power": "X X", "pmod": "n p", "round": "n scale:I?", "bround": "n scale:I?", "ceil": "n",
    "floor": "n", "ceiling": "n", "rint": "n", "signum": "n", "sign": "n", "negative": "n", "positive": "n",
    "factorial": "j", "bin": "j", "hex": "t", "bit_count": "j", "shiftleft": "j I",
    "shiftright": "j I", "shiftrightunsigned": "j I", "isnan": "x", "nanvl": "x x", "try_add": "n n",
    "try_subtract": "n n", "try_multiply": "n n", "try_divide": "n n", "pi": "", "e": "", "conv": "j I I",
    # NULL and choice
    "coalesce": "c c*", "nvl": "c c", "ifnull": "c c", "nullif": "c c", "nvl2": "c c c", "isnull": "c",
    "isnotnull": "c", "zeroifnull": "n", "nullifzero": "n", "greatest": "c c c*", "least": "c c c*",
    # text
    "upper": "t", "lower": "t", "ucase": "t", "lcase": "t", "initcap": "t", "length": "t", "char_length": "t",
    "character_length": "t", "octet_length": "t", "bit_length": "t", "trim": "t", "ltrim": "t", "rtrim": "t",
    "btrim": "t", "reverse": "t", "ascii": "t", "soundex": "t", "concat": "t t t*", "concat_ws": "S t*",
    "substring": "t K K", "substring_index": "t S I", "left": "t y", "right": "t y", "lpad": "t L L", "rpad": "t L L",
    "repeat": "t K", "instr": "t L", "locate": "S t I?", "translate": "t S S", "startswith": "t t", "endswith": "t t",
    "contains": "t t", "levenshtein": "t t", "regexp_extract": "t S I", "regexp_replace": "t L L", "rlike": "t v",
    "split": "t L limit:I?", "format_number": "n I", "format_string": "S c*", "overlay": "t t K len:K?",
    "replace": "t t t", "split_part": "t t y", "get_json_object": "t S", "base64": "t", "unbase64": "u",
    "url_encode": "t",
    # hashes
    "md5": "t", "sha1": "t", "sha": "t", "sha2": "t I", "crc32": "t", "hash": "c*", "xxhash64": "c*",
    # dates and instants
    "year": "d", "quarter": "d", "month": "d", "day": "d", "dayofmonth": "d", "dayofweek": "d", "dayofyear": "d",
    "weekofyear": "d", "weekday": "d", "hour": "z", "minute": "z", "second": "z", "date_add": "d K", "date_sub": "d K",
    "dateadd": "d K", "add_months": "d K", "datediff": "d d", "date_diff": "d d", "months_between": "d d roundOff:B?",
    "last_day": "d", "next_day": "d S", "trunc": "d S", "date_trunc": "S z", "date_format": "z S",
    "to_date": "i format:S?", "to_timestamp": "i format:S?", "unix_date": "w", "unix_seconds": "z", "unix_millis": "z",
    "unix_micros": "z", "unix_timestamp": "z", "from_unixtime": "j format:S?", "timestamp_seconds": "j",
    "timestamp_millis": "j", "timestamp_micros": "j", "date_from_unix_date": "y", "from_utc_timestamp": "z S",
    "to_utc_timestamp": "z S", "make_date": "y y y",
    # arrays and maps
    "array": "n*", "create_map": "g n", "size": "r", "cardinality": "r", "array_contains": "r L", "array_distinct": "r",
    "array_union": "r r", "array_intersect": "r r", "array_except": "r r", "array_remove": "r L", "array_append": "r L",
    "array_prepend": "r L", "array_position": "r L", "array_compact": "r", "array_sort": "r", "sort_array": "r asc:B?",
    "array_max": "r", "array_min": "r", "arrays_overlap": "r r", "array_join": "s S null_replacement:S?",
    "array_repeat": "n K", "slice": "r K K", "flatten": "f", "get": "r K", "try_element_at": "r y", "sequence": "y y",
    "map_keys": "m", "map_values": "m", "map_entries": "m", "map_contains_key": "m L",
}  # fmt: skip
AGGREGATES: dict[str, str] = {
    "count": "c", "sum": "n", "avg": "n", "mean": "n", "min": "c", "max": "c", "stddev": "n", "stddev_samp": "n",
    "stddev_pop": "n", "std": "n", "variance": "n", "var_samp": "n", "var_pop": "n", "skewness": "n", "kurtosis": "n",
    "median": "n", "corr": "x x", "covar_pop": "x x", "covar_samp": "x x", "count_if": "o", "bool_and": "o",
    "bool_or": "o", "every": "o", "some": "o", "bit_and": "j", "bit_or": "j", "bit_xor": "j", "try_sum": "n",
    "try_avg": "n", "max_by": "c h", "min_by": "c h", "collect_list": "c", "collect_set": "c",
    "approx_count_distinct": "c", "first": "g ignorenulls:B?", "last": "g ignorenulls:B?",
}  # fmt: skip
WINDOWED: dict[str, str] = {
    "row_number": "", "rank": "", "dense_rank": "", "percent_rank": "", "cume_dist": "", "ntile": "I",
    "lag": "c offset:I? default:L?", "lead": "c offset:I? default:L?",
}  # fmt: skip
GENERATORS: dict[str, str] = {"explode": "r", "explode_outer": "r"}
FUNCTIONS = SCALARS | AGGREGATES | WINDOWED | GENERATORS
"""Functions of `pyspark.sql.functions`, with their parameters. SQL calls them by the same name, or by one of:"""

SQL_NAMES = {"create_map": "map"}
WRITTEN_OUT = ("col", "column", "lit", "expr", "when", "broadcast", "count_distinct", "countDistinct", "sum_distinct",
               "asc", "desc", "asc_nulls_first", "asc_nulls_last", "desc_nulls_first", "desc_nulls_last")  # fmt: skip
"""Functions that are no call of one in SQL. `functions.py` says what they are."""

COLUMN_METHODS = (
    "__eq__", "__ne__", "__lt__", "__le__", "__gt__", "__ge__", "__and__", "__or__", "__rand__", "__ror__",
    "__invert__", "__add__", "__radd__", "__sub__", "__rsub__", "__mul__", "__rmul__", "__truediv__", "__rtruediv__",
    "__mod__", "__rmod__", "__neg__", "alias", "name", "asc", "desc", "asc_nulls_first", "asc_nulls_last",
    "desc_nulls_first", "desc_nulls_last", "when", "otherwise", "isNull", "isNotNull", "isNaN", "eqNullSafe",
    "startswith", "endswith", "contains", "rlike", "like", "ilike", "substr", "isin", "between", "getItem",
    "__getitem__", "cast", "astype", "over",
)  # fmt: skip

CASTS = ("string", "int", "integer", "bigint", "long", "double", "float", "boolean", "date", "timestamp", "smallint",
         "tinyint", "binary")  # fmt: skip
"""Types that a column may be cast to, by their names; and `decimal(p,s)`."""

WINDOW_METHODS = ("partitionBy", "orderBy", "rowsBetween", "rangeBetween")

FRAME_METHODS = (
    "select", "where", "filter", "withColumn", "withColumns", "withColumnRenamed", "withColumnsRenamed", "drop",
    "distinct", "dropDuplicates", "drop_duplicates", "limit", "orderBy", "sort", "join", "crossJoin", "union",
    "unionAll", "unionByName", "intersect", "exceptAll", "groupBy", "groupby", "agg", "transform", "alias",
    "hint", "cache", "persist", "unpersist", "repartition", "coalesce",
)  # fmt: skip
GROUPED_METHODS = ("agg", "count")
