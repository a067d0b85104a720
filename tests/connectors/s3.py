"""A server that speaks S3, on the loopback of this machine, with users who may and may not."""

import os
import subprocess
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from urllib.error import URLError

from tests.connectors.environment import PLACE, jars
from tests.ports import free_port

SECONDS = 60
BUCKET, DENIED = "calls", "denied"
MAY = (
    '{"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Action": "*", "Resource": "*"}]}'
)


@contextmanager
def server() -> Iterator[tuple[dict[str, str], Any]]:
    """Settings for Spark, and a client of its own. Whoever writes to DENIED may not."""
    port = free_port()
    url = f"http://127.0.0.1:{port}"
    own = {"AWS_ACCESS_KEY_ID": "a", "AWS_SECRET_ACCESS_KEY": "b"}
    with subprocess.Popen(
        [PLACE / "bin" / "moto_server", "-H", "127.0.0.1", "-p", str(port)],
        env=os.environ | own | {"INITIAL_NO_AUTH_ACTION_COUNT": "1000"},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    ) as process:
        try:
            _await(url, process)
            users = _client("iam", url, "a", "b")
            keys = {name: _user(users, name) for name in ("desk", "stranger")}
            users.put_user_policy(UserName="desk", PolicyName="all", PolicyDocument=MAY)
            client = _client("s3", url, *keys["desk"])
            for bucket in (BUCKET, DENIED):
                client.create_bucket(Bucket=bucket)
            plain = {"Content-Type": "text/plain"}
            asked = urllib.request.Request(f"{url}/moto-api/reset-auth", b"0", plain)  # noqa: S310
            urllib.request.urlopen(asked, timeout=SECONDS).close()  # noqa: S310
            yield _settings(url, keys), client
        finally:
            process.kill()


def keys(client: Any, prefix: str) -> set[str]:
    """What is there, without the files of tables."""
    found = client.list_objects_v2(Bucket=BUCKET, Prefix=f"{prefix}/").get("Contents", [])
    names = {each["Key"].removeprefix(f"{prefix}/").partition("/")[0] for each in found}
    return names - {""}


def own_environment(settings: dict[str, str]) -> dict[str, str]:
    """What a process of its own needs to reach the server."""
    options = [f"--conf {name}={value}" for name, value in settings.items()]
    words = ["--jars", jars("s3a"), *options, "pyspark-shell"]
    return os.environ | {"PYSPARK_SUBMIT_ARGS": " ".join(words)}


def _settings(url: str, keys: dict[str, tuple[str, str]]) -> dict[str, str]:
    found = {
        "endpoint": url,
        "endpoint.region": "us-east-1",
        "path.style.access": "true",
        "connection.ssl.enabled": "false",
        "attempts.maximum": "2",
    }
    for prefix, name in (("", "desk"), (f"bucket.{DENIED}.", "stranger")):
        for part, value in zip(("access.key", "secret.key"), keys[name], strict=True):
            found[prefix + part] = value
    return {f"spark.hadoop.fs.s3a.{name}": value for name, value in found.items()}


def _client(service: str, url: str, key: str, secret: str) -> Any:
    import boto3  # only the environment of the cases has it, and pytest looks into every file

    return boto3.client(
        service,
        endpoint_url=url,
        region_name="us-east-1",
        aws_access_key_id=key,
        aws_secret_access_key=secret,
    )


def _user(users: Any, name: str) -> tuple[str, str]:
    users.create_user(UserName=name)
    key = users.create_access_key(UserName=name)["AccessKey"]
    return key["AccessKeyId"], key["SecretAccessKey"]


def _await(url: str, process: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + SECONDS
    while True:
        try:
            urllib.request.urlopen(f"{url}/moto-api/", timeout=SECONDS).close()  # noqa: S310
        except URLError:
            assert process.poll() is None
            assert time.monotonic() < deadline
            time.sleep(0.1)
        else:
            return
