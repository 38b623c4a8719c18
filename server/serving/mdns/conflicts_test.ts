import assert from "node:assert/strict";
import type { Answer } from "dns-packet";
import { conflictIn, lostTo, type Own } from "./conflicts.ts";
import { claimedRecords, type Instance } from "./records.ts";

const ROBOT: Instance = {
  name: "robot",
  port: 8080,
  webrtc: true,
  ipv4: ["192.0.2.7"],
  ipv6: ["fd00::7"],
};
/** A second link of this host has 192.0.2.8; port 8079 was announced before. */
const OWN: Own = {
  addresses: new Set(["192.0.2.7", "192.0.2.8", "fd00::7", "fe80::7%eth0"]),
  ports: new Set([8079, 8080]),
};
const STRANGER = "192.0.2.9";

const host = (data: string, ttl = 120): Answer => (
  { name: "Robot.local", type: data.includes(":") ? "AAAA" : "A", ttl, data }
);
const service = (port: number, target = "robot.local", ttl = 120): Answer => (
  { name: "robot._rpc._tcp.local", type: "SRV", ttl, data: { port, target } }
);

Deno.test("conflictIn() tells others from this host", () => {
  const table: [string, string, Answer, boolean][] = [
    ["another's address", STRANGER, host(STRANGER), true],
    ["our address, said by us", "192.0.2.7", host("192.0.2.7"), false],
    ["our address, said by another", STRANGER, host("192.0.2.7"), false],
    ["address of our other link", "192.0.2.8", host("192.0.2.8"), false],
    ["link-local address of ours", STRANGER, host("FE80:0::7"), false],
    ["another's IPv6 address", STRANGER, host("fd00::9"), true],
    ["another's goodbye", STRANGER, host(STRANGER, 0), false],
    ["our port", STRANGER, service(8080), false],
    ["another's port", STRANGER, service(9090), true],
    ["our port of before, from another", STRANGER, service(8079), true],
    ["our port of before, an echo", "192.0.2.7", service(8079), false],
    ["another host's service", STRANGER, service(8080, "other.local"), true],
    ["another's goodbye to a port", STRANGER, service(9090, "robot.local", 0), false],
    ["another name", STRANGER, { ...host(STRANGER), name: "robot-2.local" } as Answer, false],
    ["text", STRANGER, { name: "robot._rpc._tcp.local", type: "TXT", ttl: 9, data: "x" }, false],
  ];
  for (const [what, from, record, isConflict] of table) {
    for (const section of ["answers", "additionals"] as const) {
      const conflict = conflictIn({ [section]: [record] }, from, [ROBOT], OWN);
      assert.equal(conflict !== undefined, isConflict, what);
    }
  }
});

Deno.test("lostTo() lets exactly one of two have the name", () => {
  const other: Instance = { ...ROBOT, ipv4: [STRANGER], ipv6: [] };
  const others: Own = { addresses: new Set([STRANGER]), ports: new Set([8080]) };
  const probe = (instance: Instance) => ({ authorities: claimedRecords(instance) as Answer[] });
  const table: [string, Partial<Instance>][] = [
    ["a later address", { ipv4: [STRANGER], ipv6: [] }],
    ["an earlier address", { ipv4: ["192.0.2.1"], ipv6: [] }],
    ["a later port", { ipv4: ["192.0.2.1"], ipv6: [], port: 9090 }],
    ["an earlier port", { ipv4: [STRANGER], ipv6: [], port: 80 }],
    ["no WebRTC", { ipv4: [STRANGER], ipv6: [], webrtc: false }],
    ["more addresses", { ipv4: [STRANGER], ipv6: ["fd00::9"] }],
  ];
  for (const [what, different] of table) {
    const theirs = { ...other, ...different };
    const own = { ...others, addresses: new Set([...theirs.ipv4, ...theirs.ipv6]) };
    const weLose = lostTo(probe(theirs), STRANGER, [ROBOT], OWN) !== undefined;
    const theyLose = lostTo(probe(ROBOT), "192.0.2.7", [theirs], own) !== undefined;
    assert.notEqual(weLose, theyLose, what);
  }
  assert.deepEqual(lostTo(probe(other), STRANGER, [ROBOT], OWN), {
    name: "robot",
    claim: STRANGER,
  });
});

Deno.test("lostTo() takes no notice of this host's own probes", () => {
  const probe = { authorities: claimedRecords({ ...ROBOT, ipv4: ["192.0.2.8"] }) as Answer[] };
  assert.equal(lostTo(probe, "192.0.2.8", [ROBOT], OWN), undefined);
  assert.equal(lostTo({ questions: [] }, STRANGER, [ROBOT], OWN), undefined);
});
