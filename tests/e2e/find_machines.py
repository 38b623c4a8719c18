"""Looks for machines by multicast DNS and writes what comes, changes and goes, one JSON a line."""

import json
import sys
import time

from zeroconf import ServiceBrowser, ServiceListener, Zeroconf


class Listener(ServiceListener):
    def _tell(self, zc: Zeroconf, event: str, kind: str, name: str) -> None:
        found = {"event": event, "name": name.removesuffix("." + kind)}
        info = None if event == "remove" else zc.get_service_info(kind, name, timeout=5000)
        if info is not None:
            found["host"] = info.server
            found["port"] = info.port
            found["addresses"] = info.parsed_addresses()
            found["properties"] = sorted(key.decode() for key in info.properties)
        print(json.dumps(found), flush=True)

    def add_service(self, zc: Zeroconf, type_: str, name: str) -> None:
        self._tell(zc, "add", type_, name)

    def update_service(self, zc: Zeroconf, type_: str, name: str) -> None:
        self._tell(zc, "update", type_, name)

    def remove_service(self, zc: Zeroconf, type_: str, name: str) -> None:
        self._tell(zc, "remove", type_, name)


# Held open, for tests of what a machine does beside it.
if len(sys.argv) > 1 and sys.argv[1] == "take-port":
    import socket

    taken = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    taken.bind(("0.0.0.0", 5353))
    print("taken", flush=True)
else:
    browser = ServiceBrowser(Zeroconf(), "_rpc._tcp.local.", Listener())
    print("looking", flush=True)
while True:
    time.sleep(60)
