"""Receives webhooks of triggers on port 9000 and checks that they are genuine.

python3 webhook_receiver.py SECRET        with the secret that `machine-cloud trigger secret` prints
"""
import base64
import hashlib
import hmac
import json
import sys
import time
from http.server import BaseHTTPRequestHandler, HTTPServer

KEY = base64.b64decode(sys.argv[1].removeprefix("whsec_"))
SEEN = set()


def is_genuine(headers, body):
    """Standard Webhooks: a fresh timestamp, and one of the signatures is ours."""
    message_id, timestamp = headers.get("webhook-id", ""), headers.get("webhook-timestamp", "0")
    if abs(time.time() - int(timestamp)) > 300:
        return False
    signed = f"{message_id}.{timestamp}.".encode() + body
    expected = base64.b64encode(hmac.new(KEY, signed, hashlib.sha256).digest()).decode()
    given = headers.get("webhook-signature", "").split()
    return any(hmac.compare_digest(f"v1,{expected}", signature) for signature in given)


class Receiver(BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers.get("content-length", 0)))
        if not is_genuine(self.headers, body):
            return self.answer(401)
        # A notification may come twice, with the same id.
        if self.headers["webhook-id"] not in SEEN:
            SEEN.add(self.headers["webhook-id"])
            print(self.headers.get("Machine-Name", ""), json.loads(body) if body else "", flush=True)
        return self.answer(204)

    do_GET = do_POST

    def answer(self, status):
        self.send_response(status)
        self.end_headers()


HTTPServer(("127.0.0.1", 9000), Receiver).serve_forever()
