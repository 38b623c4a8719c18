import assert from "node:assert/strict";
import type { NetworkInterfaceInfo } from "node:os";
import { hostAddresses } from "./host_addresses.ts";

function entry(address: string, more: Partial<NetworkInterfaceInfo> = {}): NetworkInterfaceInfo {
  return {
    address,
    netmask: "255.255.255.0",
    family: "IPv4",
    mac: "02:00:00:00:00:01",
    internal: false,
    cidr: `${address}/24`,
    ...more,
  } as NetworkInterfaceInfo;
}

Deno.test("hostAddresses() names what others may reach, by the names of interfaces", () => {
  const found = hostAddresses({
    wlan0: [entry("192.168.1.7"), entry("fe80::1", { family: "IPv6" } as never)],
    eth0: [entry("10.0.0.2"), entry("169.254.3.4"), entry("10.0.0.3")],
    lo: [entry("127.0.0.1", { internal: true })],
    tun0: [entry("10.8.0.2")],
    veth12: [entry("172.17.0.3")],
  });
  assert.deepEqual(found, ["10.0.0.2", "10.0.0.3", "192.168.1.7"]);
});

Deno.test("hostAddresses() of a host without a network is empty", () => {
  assert.deepEqual(hostAddresses({ lo: [entry("127.0.0.1", { internal: true })] }), []);
});
