"""How does a test get a bucket? Of a real server that speaks S3's protocol (moto), on a port of its own."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import boto3
import pytest

from backfill_assets_tests.projects import eventually

REGION = "eu-west-1"
BUCKET = "lake"


@contextmanager
def object_store(*, racing: bool = False, **environment: str) -> Generator[Any]:
    """boto3's client of an empty bucket, which this process's environment variables lead to meanwhile. `racing`: of a
    server that lets writers meet."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{free.getsockname()[1]}"
    # A process of its own: clients that wait for it may hold this one's lock of the interpreter.
    port = url.rpartition(":")[2]
    command = ["backfill_assets_tests.racing_store", port] if racing else ["moto.server", "-H", "127.0.0.1", "-p", port]
    server = subprocess.Popen(
        [sys.executable, "-m", *command],
        env=os.environ | environment,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        eventually(lambda: _answers(url), while_=lambda: server.poll() is None)
        with pytest.MonkeyPatch.context() as patch:
            for name in ("AWS_PROFILE", "AWS_SESSION_TOKEN", "AWS_DEFAULT_REGION", "AWS_ENDPOINT_URL"):
                patch.delenv(name, raising=False)
            patch.setenv("AWS_ENDPOINT_URL_S3", url)
            patch.setenv("AWS_REGION", REGION)
            patch.setenv("AWS_ACCESS_KEY_ID", "somebody")
            patch.setenv("AWS_SECRET_ACCESS_KEY", "of nobody's")
            patch.setenv("AWS_EC2_METADATA_DISABLED", "true")
            client = boto3.Session().client("s3", endpoint_url=url, region_name=REGION)
            client.create_bucket(Bucket=BUCKET, CreateBucketConfiguration={"LocationConstraint": REGION})
            yield client
    finally:
        server.kill()
        server.wait()


def _answers(url: str) -> bool:
    try:
        with urlopen(f"{url}/moto-api/data.json"):
            return True
    except OSError:
        return False


def upload(client: Any, folder: Path, prefix: str) -> None:
    """Every file of a folder, below a prefix of the bucket."""
    for file in sorted(f for f in folder.rglob("*") if f.is_file()):
        client.put_object(Bucket=BUCKET, Key=f"{prefix}/{file.relative_to(folder).as_posix()}", Body=file.read_bytes())


def keys(client: Any, prefix: str = "") -> list[str]:
    """What is stored below a prefix."""
    pages = client.get_paginator("list_objects_v2").paginate(Bucket=BUCKET, Prefix=prefix)
    return [said["Key"] for page in pages for said in page.get("Contents", ())]
