import assert from "node:assert/strict";
import { mergeAgentSettings } from "../../../shared/config/agent_settings.ts";
import { KnownSecrets, secretsOf } from "./known_secrets.ts";

function rig() {
  let told: string[] = [];
  const secrets = new KnownSecrets((values) => told = [...values]);
  return { secrets, told: () => told };
}

Deno.test("KnownSecrets hides what was added and tells the logging", () => {
  const at = rig();
  at.secrets.add(["first-secret"]);
  at.secrets.add(["second-secret", "first-secret"]);
  assert.deepEqual(at.told(), ["first-secret", "second-secret"], "what was secret stays so");
  assert.equal(at.secrets.hide("a first-secret b second-secret"), "a ****** b ******");
});

Deno.test("KnownSecrets hides each line of a key of several lines", () => {
  const at = rig();
  at.secrets.add(["-----BEGIN KEY-----\nMIIEvQIBADANBg\r\n  kqhkiG9w0BAQEF\nAB\n"]);
  for (const line of ["MIIEvQIBADANBg", "kqhkiG9w0BAQEF"]) {
    assert.equal(at.secrets.hide(`stderr: ${line}`), "stderr: ******");
  }
  assert.equal(at.secrets.hide("AB is short"), "AB is short");
});

Deno.test("KnownSecrets keeps a bounded number, the newest ones", () => {
  const at = rig();
  for (let n = 0; n < 1_000; n++) at.secrets.add([`secret-number-${n}`]);
  assert.equal(at.told().length, 400);
  assert.equal(at.secrets.hide("secret-number-999"), "******");
});

Deno.test("secretsOf() gives variables, keys of networks and the hotspot's own password", () => {
  const { settings } = mergeAgentSettings([{
    advanced_settings: { machine_server_env: { TOKEN: "env-secret" } },
    network_configuration: { hotspot_password: "hotspot-secret" },
    additional_networks: {
      office: { type: "wifi", ssid: "x", psk: "wifi-secret" },
      open: { type: "wifi", ssid: "y" },
    },
  }]);
  assert.deepEqual(secretsOf(settings), ["env-secret", "wifi-secret", "", "hotspot-secret"]);
  assert.deepEqual(secretsOf(mergeAgentSettings([]).settings), [], "the standard one is none");
});
