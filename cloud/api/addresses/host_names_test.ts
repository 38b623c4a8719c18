import assert from "node:assert/strict";
import { hostNames, partName } from "./host_names.ts";

Deno.test("partName() knows both names of a part, however they are written", () => {
  const { fqdn, localFqdn } = hostNames("demo-main", "abc123", "machine.internal");
  const part = { dnsLabel: "demo-main", locationId: "abc123" };
  for (const host of [fqdn, localFqdn, `${fqdn}:8080`, fqdn.toUpperCase()]) {
    assert.deepEqual(partName(host, "machine.internal"), part, host);
  }
});

Deno.test("partName() is undefined for names that no part has", () => {
  const others = [
    "",
    "demo-main",
    "machine.internal",
    ".machine.internal",
    "demo-main.machine.internal",
    "demo-main..machine.internal",
    "demo-main.abc123.other.internal",
    "demo-main.abc123.far.machine.internal",
    "x.demo-main.abc123.local.machine.internal",
    "demo-main.abc123.machine.internal.example.com",
  ];
  for (const host of others) assert.equal(partName(host, "machine.internal"), undefined, host);
});
