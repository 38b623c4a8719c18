import assert from "node:assert/strict";
import { type InterfaceAddress, type Interfaces, isOnLink, linksOf, MOST_LINKS } from "./links.ts";

const v4 = (cidr: string, internal = false): InterfaceAddress => (
  { address: cidr.split("/")[0]!, family: "IPv4", cidr, internal }
);
const v6 = (address: string, internal = false): InterfaceAddress => (
  { address, family: "IPv6", cidr: `${address}/64`, internal }
);

const COMPUTER: Interfaces = {
  lo: [v4("127.0.0.1/8", true), v6("::1", true)],
  eth0: [v4("192.0.2.7/24"), v4("192.0.2.8/24"), v6("fd00::7"), v6("fe80::7")],
  wlan0: [v4("198.51.100.7/24")],
  six0: [v6("fd01::7")],
};

/** `interface: what it announces`. */
function told(bound: string, interfaces = COMPUTER): string[] {
  return linksOf(bound, interfaces)
    .map(({ name, ipv4, ipv6 }) => [`${name}:`, ...ipv4, ...ipv6].join(" "));
}

Deno.test("linksOf() takes the links that the bound address can be reached by", () => {
  const all = ["lo: 127.0.0.1", "eth0: 192.0.2.7 192.0.2.8", "wlan0: 198.51.100.7"];
  assert.deepEqual(told("0.0.0.0"), all);
  const allOfBoth = ["lo: 127.0.0.1 ::1", "eth0: 192.0.2.7 192.0.2.8 fd00::7", all[2]!];
  assert.deepEqual(told("::"), allOfBoth);
  assert.deepEqual(told(""), allOfBoth);
  assert.deepEqual(told("127.0.0.1"), ["lo: 127.0.0.1"]);
  assert.deepEqual(told("127.0.0.53"), ["lo: 127.0.0.53"]);
  assert.deepEqual(told("::1"), ["lo: ::1"]);
  assert.deepEqual(told("192.0.2.8"), ["eth0: 192.0.2.8"]);
  assert.deepEqual(told("FD00:0::7"), ["eth0: fd00::7"]);
  assert.deepEqual(told("203.0.113.1"), []);
});

Deno.test("linksOf() speaks from an address of the link when another one is bound", () => {
  assert.deepEqual(linksOf("192.0.2.8", COMPUTER), [{
    name: "eth0",
    address: "192.0.2.7",
    networks: ["192.0.2.7/24", "192.0.2.8/24"],
    ipv4: ["192.0.2.8"],
    ipv6: [],
  }]);
});

Deno.test("linksOf() bounds links and addresses", () => {
  const bridges = Object.fromEntries(
    Array.from({ length: 40 }, (_, i) => [`br${i}`, [v4(`10.0.${i}.1/24`)]]),
  );
  assert.equal(linksOf("", bridges).length, MOST_LINKS);
  const many = Array.from({ length: 9 }, (_, i) => v6(`fd00::${i}`));
  assert.equal(linksOf("", { eth0: [v4("192.0.2.7/24"), ...many] })[0]?.ipv6.length, 4);
});

Deno.test("isOnLink() compares the network's bits", () => {
  const table: [string, string, boolean][] = [
    ["192.0.2.7/24", "192.0.2.200", true],
    ["192.0.2.7/24", "192.0.3.200", false],
    ["192.0.2.7/25", "192.0.2.200", false],
    ["10.1.2.3/8", "10.200.0.1", true],
    ["203.0.113.1/32", "203.0.113.1", true],
    ["203.0.113.1/32", "203.0.113.2", false],
    ["127.0.0.1/8", "127.0.0.53", true],
    ["192.0.2.7/24", "fe80::1", false],
    ["192.0.2.7/24", "nonsense", false],
  ];
  for (const [network, sender, isOn] of table) {
    assert.equal(isOnLink({ networks: [network] }, sender), isOn, `${network} ${sender}`);
  }
});
