"""Which functions are seen through? What each gives depends on its arguments, and on the rows that it gathers.

A function that is not listed makes the query opaque: it may be one's own, depend on the clock or the session, or make
rows. `backfill_assets_tests/spark/test_signature_spark.py` compares the lists with what Spark says of each function.
"""

from __future__ import annotations


def words(text: str) -> frozenset[str]:
    """The words of a text, upper-cased."""
    return frozenset(text.upper().split())


SCALAR = words("""
    abs acos acosh add_months aggregate array array_append array_compact array_contains array_distinct array_except
    array_insert array_intersect array_join array_max array_min array_position array_prepend array_remove
    array_repeat array_size array_sort array_union arrays_overlap ascii asin asinh assert_true atan atan2 atanh
    base64 bigint bin binary bit_count bit_get bit_length boolean bround btrim cardinality cbrt ceil ceiling char
    char_length character_length chr coalesce concat concat_ws contains conv convert_timezone cos cosh cot crc32 csc
    date date_add date_diff date_format date_from_unix_date date_part date_sub date_trunc dateadd datediff datepart
    day dayname dayofmonth dayofweek dayofyear decimal decode degrees double e element_at elt encode endswith
    equal_null exists exp expm1 extract factorial filter find_in_set flatten float floor forall format_number
    format_string from_csv from_json from_unixtime from_utc_timestamp get get_json_object getbit greatest hash hex
    hour hypot if ifnull initcap instr int is_valid_utf8 isnan isnotnull isnull json_array_length json_object_keys
    last_day lcase least left len length levenshtein ln locate log log10 log1p log2 lower lpad ltrim luhn_check
    make_date make_dt_interval make_interval make_time make_timestamp make_timestamp_ltz make_timestamp_ntz
    make_valid_utf8 make_ym_interval map map_concat map_contains_key map_entries map_filter map_from_arrays
    map_from_entries map_keys map_values map_zip_with mask md5 minute mod month monthname months_between
    named_struct nanvl negative next_day nullif nullifzero nvl nvl2 octet_length overlay parse_url pi pmod position
    positive pow power printf quarter quote radians raise_error reduce regexp_count regexp_extract
    regexp_extract_all regexp_instr regexp_like regexp_replace regexp_substr repeat replace reverse right rint round
    rpad rtrim schema_of_csv schema_of_json sec second sentences sequence sha sha1 sha2 shiftleft shiftright
    shiftrightunsigned sign signum sin sinh size slice smallint sort_array soundex space split split_part sqrt
    startswith str_to_map string substr substring substring_index tan tanh time time_diff time_from_micros
    time_from_millis time_from_seconds time_to_micros time_to_millis time_to_seconds time_trunc timestamp
    timestamp_micros timestamp_millis timestamp_seconds tinyint to_binary to_char to_csv to_date to_json to_number
    to_time to_timestamp to_timestamp_ltz to_timestamp_ntz to_unix_timestamp to_utc_timestamp to_varchar transform
    transform_keys transform_values translate trim trunc try_add try_divide try_element_at try_make_interval
    try_make_timestamp try_make_timestamp_ltz try_make_timestamp_ntz try_mod try_multiply try_parse_url try_subtract
    try_to_binary try_to_date try_to_number try_to_time try_to_timestamp try_url_decode try_validate_utf8 ucase
    unbase64 unhex unix_date unix_micros unix_millis unix_seconds unix_timestamp upper url_decode url_encode
    validate_utf8 weekday weekofyear width_bucket xxhash64 year zeroifnull zip_with
""")

AGGREGATE = words("""
    any any_value approx_count_distinct approx_percentile array_agg avg bit_and bit_or bit_xor bitmap_and_agg
    bitmap_construct_agg bitmap_or_agg bool_and bool_or collect_list collect_set corr count count_if covar_pop
    covar_samp every first first_value histogram_numeric kurtosis last last_value listagg max max_by mean median min
    min_by mode percentile percentile_approx percentile_cont percentile_disc regr_avgx regr_avgy regr_count
    regr_intercept regr_r2 regr_slope regr_sxx regr_sxy regr_syy skewness some std stddev stddev_pop stddev_samp
    string_agg sum try_avg try_sum var_pop var_samp variance
""")

WINDOW_ONLY = words("""
    cume_dist dense_rank lag lead nth_value ntile percent_rank rank row_number
""")

NAMES_ITS_FIELDS = frozenset({"STRUCT", "ARRAYS_ZIP"})
"""Scalar functions that name fields of what they give after the columns that they are given."""

GENERATORS = frozenset({"EXPLODE", "EXPLODE_OUTER", "POSEXPLODE", "POSEXPLODE_OUTER", "INLINE", "INLINE_OUTER"})

CLOCKS = frozenset({"CURRENT_TIMESTAMP", "CURRENT_DATE", "NOW", "CURDATE", "LOCALTIMESTAMP"})
"""One instant for all of a query. They are refused unless the author allows them: then equal texts count as equal."""

WITHOUT_ARGUMENTS = CLOCKS | frozenset({
    "PI", "E", "ARRAY", "MAP", "ROW_NUMBER", "RANK", "DENSE_RANK", "CUME_DIST", "PERCENT_RANK",
})  # fmt: skip
"""Those that depend on nothing when they are given nothing; `unix_timestamp()` is the clock."""

KNOWN = SCALAR | AGGREGATE | WINDOW_ONLY | NAMES_ITS_FIELDS | CLOCKS
