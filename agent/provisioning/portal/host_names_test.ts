import assert from "node:assert/strict";
import { destinationOf } from "./host_names.ts";

const ADDRESS = "10.42.0.1";
const all = { address: ADDRESS, onlySetupNames: false };
const few = { address: ADDRESS, onlySetupNames: true };

Deno.test("destinationOf() leads every other name to the portal", () => {
  for (const host of [ADDRESS, `${ADDRESS}:80`, "machine.setup", "Machine.SETUP."]) {
    assert.equal(destinationOf(host, "/", all), "portal", host);
  }
  for (const host of ["example.com", "setup", "10.42.0.2", `${ADDRESS}:81`]) {
    assert.equal(destinationOf(host, "/", all), "redirect", host);
  }
  for (const host of [null, "", "a b", "<x>", "[::1]", "x".repeat(300)]) {
    assert.equal(destinationOf(host, "/", all), "unknown", String(host));
  }
});

Deno.test("destinationOf() redirects what systems ask to look for a sign-in", () => {
  const probes: [string, string][] = [
    ["connectivitycheck.gstatic.com", "/generate_204"],
    ["www.google.com", "/gen_204"],
    ["captive.apple.com", "/hotspot-detect.html"],
    ["captive.apple.com", "/"],
    ["www.msftconnecttest.com", "/connecttest.txt"],
    ["www.msftconnecttest.com", "/redirect"],
    ["www.msftncsi.com", "/ncsi.txt"],
    ["detectportal.firefox.com", "/success.txt"],
    ["detectportal.firefox.com", "/canonical.html"],
    [ADDRESS, "/generate_204"],
  ];
  for (const [host, path] of probes) assert.equal(destinationOf(host, path, all), "redirect", path);
});

Deno.test("destinationOf() takes only names of .setup when it is told to", () => {
  assert.equal(destinationOf("machine.setup", "/", few), "portal");
  assert.equal(destinationOf(ADDRESS, "/", few), "portal");
  assert.equal(destinationOf("captive.apple.com", "/hotspot-detect.html", few), "unknown");
  assert.equal(destinationOf("evil.setup.example.com", "/", few), "unknown");
});
