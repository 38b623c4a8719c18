import assert from "node:assert/strict";
import { join } from "node:path";
import { captiveDnsIn, redirectRules } from "./captive_dns.ts";
import { hotspotName } from "./hotspot.ts";

Deno.test("hotspotName() is prefix and host in lower case, cut to 32 bytes", () => {
  assert.equal(hotspotName("machine-setup", "Rover-7"), "machine-setup-rover-7");
  assert.equal(hotspotName("machine-setup", "a".repeat(40)), `machine-setup-${"a".repeat(18)}`);
  const cut = hotspotName("é".repeat(15), "é");
  assert.equal(cut, `${"é".repeat(15)}-`, "no half characters");
});

Deno.test("redirectRules() lead every name to the machine, or those below .setup", () => {
  assert.match(redirectRules("10.42.0.1", false), /^address=\/#\/10\.42\.0\.1$/m);
  assert.match(redirectRules("10.42.0.1", true), /^address=\/\.setup\/10\.42\.0\.1$/m);
});

Deno.test("captiveDnsIn() makes the folder, and leaves other files", async () => {
  const dir = await Deno.makeTempDir();
  const folder = join(dir, "dnsmasq-shared.d");
  const dns = captiveDnsIn(folder);
  await dns.write("10.42.0.1", false);
  await Deno.writeTextFile(join(folder, "theirs.conf"), "");
  await dns.remove();
  await dns.remove();
  assert.deepEqual([...Deno.readDirSync(folder)].map(({ name }) => name), ["theirs.conf"]);
  await Deno.remove(dir, { recursive: true });
});
