"""A server that speaks the protocol of S3 and checks signatures, in memory, for tests.

Prints one JSON object: {"port", "access_key_id", "secret_access_key"}. The bucket `machines` is
there. Ends when its standard input does. `PUT /_faults` takes a list of faults, each
{"method", "contains", "times", "status", "code"}: so many requests whose method and address fit are
answered with that error; with status 0 the whole server dies. With "POST after" for the method a
request is carried out before its answer is replaced. With status 200 its answer is kept back until
the next `PUT /_faults`. `GET /_requests` gives the requests
since it was last asked, "METHOD /path?query". moto knows no signatures in addresses: botocore
checks those.
"""

import datetime
import json
import os
import sys
import threading
import urllib.parse

# What follows is allowed without a signature: two calls make the user, one the bucket.
FREE_CALLS = 4
os.environ["INITIAL_NO_AUTH_ACTION_COUNT"] = str(FREE_CALLS)
os.environ.setdefault("AWS_EC2_METADATA_DISABLED", "true")

import boto3  # noqa: E402
from botocore.auth import S3SigV4QueryAuth  # noqa: E402
from botocore.awsrequest import AWSRequest  # noqa: E402
from botocore.credentials import Credentials  # noqa: E402
from moto.moto_server.werkzeug_app import DomainDispatcherApplication, create_backend_app  # noqa: E402
from werkzeug.serving import WSGIRequestHandler, make_server  # noqa: E402

BUCKET = "machines"
POLICY = {
    "Version": "2012-10-17",
    "Statement": [{"Effect": "Allow", "Action": "s3:*", "Resource": "*"}],
}

moto = DomainDispatcherApplication(create_backend_app)
faults = []
requests = []
lock = threading.Lock()
# Set when what was kept back is answered.
released = threading.Event()
# Of the one user.
access_key = {}


class Quiet(WSGIRequestHandler):
    def log_request(self, *args):
        pass


def is_signed(method, host, path, query):
    """Whether an address has the signature that botocore gives it, and is not too old."""
    given = dict(urllib.parse.parse_qsl(query, keep_blank_values=True))
    at = datetime.datetime.strptime(given["X-Amz-Date"], "%Y%m%dT%H%M%SZ")
    age = (datetime.datetime.utcnow() - at).total_seconds()
    if not -900 < age < int(given["X-Amz-Expires"]) <= 604800:
        return False
    credentials = Credentials(access_key["AccessKeyId"], access_key["SecretAccessKey"])
    signer = S3SigV4QueryAuth(
        credentials, "s3", "us-east-1", expires=int(given["X-Amz-Expires"])
    )
    request = AWSRequest(method, f"http://{host}{urllib.parse.quote(path)}")
    request.context["timestamp"] = given["X-Amz-Date"]
    signer._modify_request_before_signing(request)
    text = signer.string_to_sign(request, signer.canonical_request(request))
    return signer.signature(text, request) == given["X-Amz-Signature"]


def addressed(environ, path, query, start_response):
    """What is at an address with a signature."""
    if not is_signed(environ["REQUEST_METHOD"], environ["HTTP_HOST"], path, query):
        start_response("403 Forbidden", [("content-type", "application/xml")])
        return [b"<Error><Code>SignatureDoesNotMatch</Code></Error>"]
    client = boto3.client(
        "s3",
        endpoint_url=f"http://{environ['HTTP_HOST']}",
        region_name="us-east-1",
        aws_access_key_id=access_key["AccessKeyId"],
        aws_secret_access_key=access_key["SecretAccessKey"],
    )
    try:
        key = path.removeprefix(f"/{BUCKET}/")
        body = client.get_object(Bucket=BUCKET, Key=key)["Body"].read()
    except client.exceptions.NoSuchKey:
        start_response("404 Not Found", [("content-type", "application/xml")])
        return [b"<Error><Code>NoSuchKey</Code></Error>"]
    start_response("200 OK", [("content-length", str(len(body)))])
    return [body]


def application(environ, start_response):
    path, query = environ["PATH_INFO"], environ.get("QUERY_STRING", "")
    method = environ["REQUEST_METHOD"]
    global released
    if path == "/_faults":
        length = int(environ.get("CONTENT_LENGTH") or 0)
        with lock:
            faults[:] = json.loads(environ["wsgi.input"].read(length))
            released.set()
            released = threading.Event()
        start_response("204 No Content", [])
        return []
    with lock:
        if path == "/_requests":
            body = json.dumps(requests).encode()
            requests.clear()
            start_response("200 OK", [("content-type", "application/json")])
            return [body]
        address = f"{path}?{query}" if query else path
        requests.append(f"{method} {address}")
        fault = next(
            (
                f
                for f in faults
                if f["times"] > 0
                and f["method"].split(" ")[0] == method
                and f["contains"] in address
            ),
            None,
        )
        if fault:
            fault["times"] -= 1
        until = released
    if fault and fault["status"] == 200:
        until.wait()
    elif fault:
        if fault["status"] == 0:
            os._exit(1)
        if fault["method"].endswith(" after"):
            list(moto(environ, lambda status, headers, *rest: None))
        else:
            environ["wsgi.input"].read(int(environ.get("CONTENT_LENGTH") or 0))
        start_response(f"{fault['status']} Error", [("content-type", "application/xml")])
        return [f"<Error><Code>{fault['code']}</Code><Message>told to</Message></Error>".encode()]
    if "X-Amz-Signature=" in query:
        return addressed(environ, path, query, start_response)
    return moto(environ, start_response)


def main():
    server = make_server(
        "127.0.0.1", int(sys.argv[1]), application, threaded=True, request_handler=Quiet
    )
    threading.Thread(target=server.serve_forever, daemon=True).start()
    options = {
        "endpoint_url": f"http://127.0.0.1:{server.port}",
        "region_name": "us-east-1",
        "aws_access_key_id": "setup",
        "aws_secret_access_key": "setup",
    }
    iam = boto3.client("iam", **options)
    iam.create_user(UserName="cloud")
    iam.put_user_policy(
        UserName="cloud", PolicyName="objects", PolicyDocument=json.dumps(POLICY)
    )
    key = iam.create_access_key(UserName="cloud")["AccessKey"]
    access_key.update(key)
    boto3.client("s3", **options).create_bucket(Bucket=BUCKET)
    print(
        json.dumps(
            {
                "port": server.port,
                "access_key_id": key["AccessKeyId"],
                "secret_access_key": key["SecretAccessKey"],
            }
        ),
        flush=True,
    )
    sys.stdin.read()


main()
