"""What do a client's words about a place in a bucket mean?"""

from __future__ import annotations

import pytest

from backfill_assets.project.object_store import UnreachableError, raise_if_away, unreachable

AWAY = "AWS Error NETWORK_CONNECTION during GetObject operation: curlCode: 28, Timeout was reached"


def test_what_is_of_the_way_and_what_of_the_object() -> None:
    """A store that does not answer says nothing of an object, and may answer later; one that has it no more does."""
    with pytest.raises(UnreachableError, match="does not answer") as away:
        raise_if_away("s3://lake/a", OSError(AWAY))
    assert away.value.retryable
    with pytest.raises(UnreachableError, match="does not answer"):
        raise_if_away("s3://lake/a", away.value)
    raise_if_away("/data/a", OSError(AWAY))
    raise_if_away("s3://lake/a", FileNotFoundError(AWAY))
    raise_if_away("s3://lake/a", OSError("AWS Error NO_SUCH_KEY during GetObject operation: it went"))
    raise_if_away("s3://lake/a", OSError("Parquet magic bytes not found in footer"))


def test_which_answer_means_that_there_is_no_bucket() -> None:
    """Only the one about the bucket itself: an object that is not there has the same number."""
    asked = "An error occurred (404) when calling the {} operation: Not Found"
    assert "there is no bucket lake" in str(unreachable("s3://lake/a", asked.format("HeadBucket")))
    assert "there is no bucket" not in str(unreachable("s3://lake/a", asked.format("HeadObject")))


def test_a_password_in_an_address_is_not_repeated() -> None:
    """Clients name the address that they were given."""
    said = str(unreachable("s3://lake/a", 'Could not connect to the endpoint URL: "http://me:hunter2@minio/lake"'))
    assert "hunter2" not in said and "minio/lake" in said
