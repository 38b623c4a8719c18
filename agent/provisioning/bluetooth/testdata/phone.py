"""A phone's app, written from the published table alone: names, namespace, RSA-OAEP, lists.

It asks on standard output, one JSON object a line, to read or write a characteristic, and is
answered on standard input: {"value": hex} or {"error": text}. Its last line is what it found.
"""

import json
import sys
import uuid

from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import padding

NAMESPACE = uuid.UUID("74a942f4-0f45-43f4-88ca-f87021ae36ea")
BRAND, PASSWORD, SSID, PSK, CREDENTIALS = sys.argv[1:6]


def uuid_of(name):
    return str(uuid.uuid5(NAMESPACE, name))


def ask(**question):
    print(json.dumps(question), flush=True)
    return json.loads(sys.stdin.readline())


def read(name):
    answer = ask(op="read", uuid=uuid_of(name))
    return bytes.fromhex(answer["value"])


key = serialization.load_der_public_key(read("pub_key"))
assert key.key_size == 2048, key.key_size
oaep = padding.OAEP(mgf=padding.MGF1(hashes.SHA256()), algorithm=hashes.SHA256(), label=None)


def write(name, value, password=PASSWORD):
    sealed = key.encrypt(f"{password}:{value}".encode(), oaep)
    return ask(op="write", uuid=uuid_of(name), value=sealed.hex()).get("error")


def networks(data):
    found = []
    while data:
        end = data.index(0, 1)
        found.append([data[1:end].decode(), data[0] & 0x7F, bool(data[0] & 0x80)])
        data = data[end + 1 :]
    return found


cloud = json.loads(CREDENTIALS)["cloud"]
found = {
    "service": str(uuid.uuid5(NAMESPACE, BRAND + "-provisioning")),
    "status": read("status")[0],
    "manufacturer": read("manufacturer").decode(),
    "model": read("model").decode(),
    "fragment_id": read("fragment_id").decode(),
    "agent_version": read("agent_version").decode(),
    "networks": networks(read("networks")),
    "errors": read("errors").split(b"\0")[:-1] == [b"one", b"two"],
    "wrong": write("ssid", SSID, password="not the password"),
    "writes": [
        write("ssid", SSID),
        write("psk", PSK),
        write("id", cloud["id"]),
        write("secret", cloud["secret"]),
        write("app_address", cloud["app_address"]),
        write("exit_provisioning", ""),
    ],
}
print(json.dumps({"op": "done", "found": found}), flush=True)
