"""How is a bucket reached? Declared once, in AWS's own environment variables, for every client that reads or writes.

Those are Spark (by Hadoop's S3A), delta-rs, Arrow, and boto3, which asks for what the others do not tell: whose region
a bucket is in, and the ETags of its objects. Credentials pass through none of our hands: each client looks for them in
the same order, in the environment, the profile, and the role of the machine or pod.
"""

from __future__ import annotations

import os
import re
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

from backfill_assets.core.errors import SettingsError

if TYPE_CHECKING:
    from pyarrow.fs import FileSystem

SCHEME = "s3://"
_SCHEMES = re.compile(r"s3a?://", re.IGNORECASE)
"""`s3a://` is what Hadoop calls the same; locations are kept as `s3://…`, which all clients take."""
ENDPOINT = ("AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL")
REGION = ("AWS_REGION", "AWS_DEFAULT_REGION")
CREDENTIALS = "software.amazon.awssdk.auth.credentials.DefaultCredentialsProvider"
_USUAL_REGION = "us-east-1"
_BUCKET = re.compile(r"[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]")
_TOKEN = re.compile(r"(<Token[^>]*>)[^<]*")
"""A store repeats a token that it does not take."""
_PASSWORD = re.compile(r"(?<=://)[^/@\s]+@")
"""Clients repeat an address as it was given."""
_KEY = re.compile(r"[A-Za-z0-9_.=/-]*")


@dataclass(frozen=True, slots=True, kw_only=True)
class BucketAccess:
    """Where a bucket's store is: its region, and its address where that is not AWS's own."""

    region: str
    endpoint: str = ""

    @property
    def delta(self) -> dict[str, str]:
        """As delta-rs takes it (`storage_options`)."""
        said = {"AWS_REGION": self.region, "max_retries": "5", "retry_timeout": "60s", "conditional_put": "etag"}
        if self.endpoint:
            said |= {
                "AWS_ENDPOINT_URL": self.endpoint,
                "AWS_ALLOW_HTTP": str(self.endpoint.startswith("http:")).lower(),
            }
        return said

    def hadoop(self, bucket: str) -> dict[str, str]:
        """As Hadoop takes it for one bucket, in Spark's configuration."""
        of = f"spark.hadoop.fs.s3a.bucket.{bucket}"
        said = {f"{of}.endpoint.region": self.region}
        if self.endpoint:
            secure = str(self.endpoint.startswith("https:")).lower()
            said |= {
                f"{of}.endpoint": self.endpoint,
                f"{of}.path.style.access": "true",
                f"{of}.connection.ssl.enabled": secure,
            }
        return said

    @property
    def arrow(self) -> FileSystem:
        """As Arrow takes it."""
        return _arrow(self)


def is_s3(location: str) -> bool:
    """Whether a location is in a bucket that S3's protocol reaches."""
    return bool(_SCHEMES.match(location))


def plain_uri(location: str) -> str:
    """A location as it is kept.

    >>> plain_uri("s3a://lake/prod/"), plain_uri("S3://lake")
    ('s3://lake/prod', 's3://lake')
    """
    return _SCHEMES.sub(SCHEME, location).rstrip("/")


def way_back(location: str) -> str:
    """What brings back what a warehouse has lost; `backfill restore` copies folders.

    >>> way_back("/data/warehouse"), way_back("s3://lake/prod")
    ('`backfill restore SRC`', "the object store's own versions or copies")
    """
    return "the object store's own versions or copies" if "://" in location else "`backfill restore SRC`"


def bucket_of(location: str) -> str:
    """The bucket that a location is in."""
    return location.split("://", 1)[1].split("/", 1)[0]


def wrong_s3_location(location: str) -> str:
    """Why no client, or not every one, would find this place; empty when all do.

    >>> wrong_s3_location("s3://lake/prod"), wrong_s3_location("s3://Lake/prod")
    ('', '`Lake` is no name of a bucket')
    >>> wrong_s3_location("s3://lake/a b")
    'clients read some of its characters each in their own way: letters, digits and _ . = - are safe'
    """
    if problem := wrong_bucket(location):
        return problem
    _, _, key = location.split("://", 1)[1].rstrip("/").partition("/")
    if not _KEY.fullmatch(key):
        return "clients read some of its characters each in their own way: letters, digits and _ . = - are safe"
    if key and any(part in ("", ".", "..") for part in key.split("/")):
        return "a part of it is empty, `.` or `..`"
    return ""


def wrong_bucket(location: str) -> str:
    """Why the bucket of this place can have no such name, as Hadoop takes it; empty when it can.

    >>> wrong_bucket("s3://lake/events/*.csv"), wrong_bucket("s3://my_lake/events")
    ('', '`my_lake` is no name of a bucket')
    """
    bucket = bucket_of(location)
    return "" if _BUCKET.fullmatch(bucket) else f"`{bucket}` is no name of a bucket"


def access(location: str) -> BucketAccess:
    """How the bucket of a location is reached; asked for once. Raises SettingsError, which says what is in the way."""
    endpoint, region = _first(ENDPOINT), _first(REGION)
    if "@" in endpoint:  # it would be in Spark's configuration, which many can read
        raise SettingsError(
            f"{' or '.join(ENDPOINT)} holds a name and a password",
            why="the address of an object store is no secret: it is printed, and is in Spark's configuration",
            fix="leave them out; AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY are for that",
        )
    return _access(bucket_of(location), endpoint, region)


def delta_options(location: str) -> dict[str, str] | None:
    """What delta-rs is told to open a table there. Raises SettingsError."""
    return access(location).delta if is_s3(location) else None


def arrow_path(location: str) -> tuple[FileSystem, str]:
    """Arrow's file system for a folder, file or URI, and the path in it. Raises SettingsError."""
    from pyarrow.fs import FileSystem, LocalFileSystem

    if "://" not in location:
        return LocalFileSystem(), location
    if is_s3(location):
        return access(location).arrow, plain_uri(location).removeprefix(SCHEME)
    system, path = FileSystem.from_uri(location)
    return system, path


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredObject:
    """An object of a bucket. `etag` is another one when its content is."""

    key: str
    bytes: int
    written: Any
    etag: str


def objects(location: str, *, at_most: int | None = None) -> list[StoredObject]:
    """What is stored at a location, or below it, by key; not much more than `at_most`. Raises SettingsError."""
    _, _, key = plain_uri(location).removeprefix(SCHEME).partition("/")
    first = [said for said in _listed(location, key, MaxItems=1, PageSize=1) if said["Key"] == key] if key else []
    more = {} if at_most is None else {"MaxItems": at_most}
    found = [
        StoredObject(key=said["Key"], bytes=said["Size"], written=said["LastModified"], etag=said["ETag"])
        for said in (*first, *_listed(location, f"{key}/" if key else "", **more))
        if not said["Key"].endswith("/")
    ]
    return sorted(found, key=lambda one: one.key)


def remove_all(location: str) -> None:
    """Delete whatever is below a location, also what stands for empty folders. Raises SettingsError."""
    bucket, _, key = plain_uri(location).removeprefix(SCHEME).partition("/")
    assert key
    with reaching(location):
        for said in _listed(location, f"{key}/"):
            _client(access(location)).delete_object(Bucket=bucket, Key=said["Key"])


def _listed(location: str, prefix: str, **more: int) -> list[dict[str, Any]]:
    with reaching(location):
        pages = _client(access(location)).get_paginator("list_objects_v2")
        return [
            one
            for page in pages.paginate(Bucket=bucket_of(location), Prefix=prefix, PaginationConfig=more)
            for one in page.get("Contents", ())
        ]


@contextmanager
def reaching(location: str) -> Generator[None]:
    """What a client says of a place in a bucket that it cannot reach becomes a SettingsError."""
    try:
        yield
    except SettingsError:
        raise
    except Exception as error:
        if not is_s3(location) or isinstance(error, FileNotFoundError):
            raise
        raise unreachable(location, f"{type(error).__name__}: {error}") from None


def is_out_of_reach(said: str) -> bool:
    """Whether a client's words are about the way to a bucket, not about what is in it."""
    return any(mark in said for marks, _, _ in _MEANINGS for mark in marks)


def is_of_store(said: str) -> bool:
    """Whether words of Arrow are a store's, or of the way to it; others are of the content."""
    return ("AWS Error" in said and "NO_SUCH_KEY" not in said) or is_out_of_reach(said)


class UnreachableError(SettingsError, OSError):
    """A place in a bucket cannot be reached: for whoever can do without it, an OSError as any other. It may pass."""

    retryable = True


def raise_if_away(location: str, error: Exception) -> None:
    """Raise UnreachableError for what a store said of the way to an object: that tells nothing of the object."""
    if isinstance(error, UnreachableError):
        raise error
    if is_s3(location) and not isinstance(error, FileNotFoundError) and is_of_store(str(error)):
        raise unreachable(location, str(error)) from None


def unreachable(location: str, said: str) -> UnreachableError:
    """What a client's words about a place in a bucket mean, and what to do."""
    said = _PASSWORD.sub("…@", _TOKEN.sub(r"\1…", said))
    bucket, line = bucket_of(location), said.strip().partition("\n")[0][:300]
    for marks, what, fix in _MEANINGS:
        if any(mark in said for mark in marks):
            return UnreachableError(what.format(bucket=bucket, location=location), why=line, fix=fix)
    return UnreachableError(
        f"{location} cannot be reached",
        why=line,
        fix="run `backfill doctor`, and the same command again when the object store answers",
    )


_MEANINGS = (
    (
        ("NoSuchBucket", "NO_SUCH_BUCKET", "UnknownBucketException", "(404) when calling the HeadBucket"),
        "there is no bucket {bucket}",
        "make the bucket, or correct the location (or AWS_ENDPOINT_URL_S3)",
    ),
    (
        ("PermanentRedirect", "AuthorizationHeaderMalformed", "configured region", "(301)", "status code 301"),
        "the bucket {bucket} is in another region",
        "set AWS_REGION to the bucket's",
    ),
    (
        ("NoCredentials", "PartialCredentials", "Unable to load credentials", "ProfileNotFound", "ExpiredToken",
         "TokenRefreshRequired", "CredentialRetrieval", "SSOToken", "UnauthorizedSSOToken"),
        "there are no credentials for {location}",
        "set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE, or run where a role is attached",
    ),
    (
        ("AccessDenied", "ACCESS_DENIED", "Forbidden", "(403)", "InvalidAccessKeyId", "SignatureDoesNotMatch",
         "403 Forbidden"),
        "{location} is forbidden",
        "allow these credentials s3:ListBucket on the bucket, and s3:GetObject, s3:PutObject and s3:DeleteObject in it",
    ),
    (
        ("EndpointConnectionError", "ConnectTimeout", "ReadTimeout", "ConnectionClosed", "NETWORK_CONNECTION",
         "SSLError", "HTTPClientError", "InvalidURI", "Invalid endpoint", "error sending request"),
        "the object store of {location} does not answer",
        "correct AWS_ENDPOINT_URL_S3 (unset for AWS itself), or AWS_REGION; then run the same command again",
    ),
)  # fmt: skip


@cache
def _access(bucket: str, endpoint: str, region: str) -> BucketAccess:
    asked = BucketAccess(region=region or _USUAL_REGION, endpoint=endpoint)
    with reaching(f"{SCHEME}{bucket}"):
        said = _client(asked).head_bucket(Bucket=bucket)
    there = said.get("BucketRegion") or said["ResponseMetadata"]["HTTPHeaders"].get("x-amz-bucket-region", "")
    if region and there and there != region:
        raise SettingsError(
            f"the bucket {bucket} is in another region",
            why=f"it is in {there}, and {' or '.join(REGION)} says {region}",
            fix=f"set AWS_REGION={there}",
        )
    return BucketAccess(region=there or asked.region, endpoint=endpoint)


@cache
def _arrow(of: BucketAccess) -> FileSystem:
    from pyarrow.fs import S3FileSystem

    if not of.endpoint:
        return S3FileSystem(region=of.region)
    scheme, _, host = of.endpoint.partition("://")
    return S3FileSystem(region=of.region, scheme=scheme, endpoint_override=host.rstrip("/"))


@cache
def _client(of: BucketAccess) -> Any:
    try:
        from boto3 import Session
        from botocore.config import Config
    except ImportError:
        raise SettingsError(
            "what object stores need is not installed",
            why="boto3 is missing",
            fix="pip install 'backfill-assets[s3]'",
        ) from None
    addressing = {"addressing_style": "path"} if of.endpoint else {}
    config = Config(s3=addressing, connect_timeout=10, read_timeout=60, retries={"total_max_attempts": 3})
    return Session().client("s3", region_name=of.region, endpoint_url=of.endpoint or None, config=config)


def _first(names: tuple[str, ...]) -> str:
    return next((value for name in names if (value := os.environ.get(name))), "")
