import assert from "node:assert/strict";
import type { AccessPoint } from "../manager/network_manager.ts";
import { isSaeOnly, securityOf, ssidKey, visibleNetworks } from "./visible_networks.ts";

const bytes = (text: string) => new TextEncoder().encode(text);
const point = (
  ssid: Uint8Array,
  strength: number,
  rest: Partial<AccessPoint> = {},
): AccessPoint => ({
  ssid,
  strength,
  flags: 1,
  wpaFlags: 0,
  rsnFlags: 0x100,
  ...rest,
});
const NONE = { known: new Set<string>(), without: new Set<string>() };

Deno.test("securityOf() reads the flags of an access point", () => {
  const of = (flags: number, wpaFlags: number, rsnFlags: number) =>
    securityOf({ ssid: bytes("x"), strength: 1, flags, wpaFlags, rsnFlags });
  assert.deepEqual(
    [of(0, 0, 0), of(1, 0, 0), of(1, 0x100, 0), of(1, 0, 0x500), of(1, 0, 0x400), of(1, 0, 0x200)],
    ["open", "wep", "wpa2", "wpa2", "wpa3", "enterprise"],
  );
});

Deno.test("visibleNetworks() has each name once, the strongest first, without hidden ones", () => {
  const odd = Uint8Array.from({ length: 32 }, (_, n) => 0xe0 + n % 32);
  const points = [
    point(bytes("Office"), 20),
    point(bytes("Office"), 70),
    point(odd, 90),
    point(bytes("Café"), 50, { flags: 0, rsnFlags: 0 }),
    point(bytes("setup-host"), 99),
    point(new Uint8Array(), 80),
    point(new Uint8Array(8), 80),
  ];
  const found = visibleNetworks(points, {
    known: new Set([ssidKey(bytes("Office"))]),
    without: new Set([ssidKey(bytes("setup-host"))]),
  });
  assert.deepEqual(found.map(({ signal, isKnown }) => [signal, isKnown]), [
    [90, false],
    [70, true],
    [50, false],
  ]);
  assert.deepEqual(found[0]?.ssidBytes, odd);
  assert.equal(found[2]?.ssid, "Café");
  assert.deepEqual(visibleNetworks([], NONE), []);
});

Deno.test("isSaeOnly() holds only when all access points of a seen network say so", () => {
  const office = bytes("Office");
  const sae = point(office, 10, { rsnFlags: 0x400 });
  assert.equal(isSaeOnly([sae, point(bytes("Other"), 10)], office), true);
  assert.equal(isSaeOnly([sae, point(office, 10)], office), false);
  assert.equal(isSaeOnly([], office), false);
});
