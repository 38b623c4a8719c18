import assert from "node:assert/strict";
import type { AdditionalNetwork } from "../../../shared/config/agent_fields.ts";
import { hotspotProfile, labelOf, managedNetwork, profileOf, profileUuid } from "./profile.ts";

const WIFI: AdditionalNetwork = {
  type: "wifi",
  interface: "",
  ssid: "Office",
  psk: "correct horse",
  priority: -5,
  ipv4_address: "auto",
  ipv4_gateway: "",
  ipv4_dns: [],
  ipv4_route_metric: 0,
};
const profile = (changes: Partial<AdditionalNetwork> = {}, powerSave: boolean | null = null) =>
  profileOf(managedNetwork("office", { ...WIFI, ...changes }, { powerSave }));
const value = (settings: ReturnType<typeof profile>, section: string, key: string) =>
  settings[section]?.[key]?.value;

Deno.test("profileOf() uses the metrics of the spec where none is given", () => {
  assert.equal(value(profile(), "ipv4", "route-metric"), 600n);
  assert.equal(value(profile({ type: "wired" }), "ipv4", "route-metric"), 100n);
  assert.equal(value(profile({ ipv4_route_metric: 5 }), "ipv4", "route-metric"), 5n);
});

Deno.test("profileOf() sets power save only where it is asked for", () => {
  const of = (powerSave: boolean | null) =>
    value(profile({}, powerSave), "802-11-wireless", "powersave");
  assert.deepEqual([of(null), of(false), of(true)], [undefined, 2, 3]);
});

Deno.test("profileOf() leaves out the key of an open network", () => {
  assert.equal(profile({ psk: "" })["802-11-wireless-security"], undefined);
  assert.equal(value(profile(), "802-11-wireless-security", "key-mgmt"), "wpa-psk");
});

Deno.test("profileOf() binds to an interface only where one is named", () => {
  assert.equal(value(profile(), "connection", "interface-name"), undefined);
  assert.equal(value(profile({ interface: "wlan1" }), "connection", "interface-name"), "wlan1");
});

Deno.test("profileUuid() is the same for the same label, and a UUID", () => {
  assert.equal(profileUuid("a"), profileUuid("a"));
  assert.notEqual(profileUuid("a"), profileUuid("b"));
  assert.match(
    profileUuid("a"),
    /^[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/,
  );
});

Deno.test("labelOf() finds our mark and no other's", () => {
  assert.equal(labelOf(profile()), "office");
  const hotspot = { ssid: new Uint8Array([1]), interface: "w", password: "12345678", address: "" };
  assert.equal(labelOf(hotspotProfile(hotspot)), "@hotspot");
  assert.equal(labelOf({ connection: {} }), undefined);
});
