import assert from "node:assert/strict";
import { type EnvironmentInput, moduleEnvironment } from "./module_environment.ts";

const input: EnvironmentInput = {
  inherited: {
    PATH: "/bin",
    MACHINE_LOGFILE: "/l",
  },
  facts: {
    primaryOrgId: "org",
    locationId: "loc",
    machineId: "machine",
    machinePartId: "part",
    machineFqdn: "m.example",
    apiKeyId: "id",
    apiKey: "key",
    tracing: true,
  },
  module: {
    name: "m",
    moduleId: "acme:m",
    executable: "/m/run",
    root: "/m",
    env: { OWN: "1", PATH: "/m/bin" },
    tcpMode: false,
  },
  home: "/state",
  dataFolder: "/state/module-data/part/m",
  root: "/m",
  address: "/tmp/m.sock",
};

Deno.test("moduleEnvironment() tells each value by our name and by the one that modules read", () => {
  const env = moduleEnvironment(input);
  const expected = {
    MODULE_DATA: "/state/module-data/part/m",
    MODULE_NAME: "m",
    MODULE_ID: "acme:m",
    MODULE_ROOT: "/m",
    MODULE_ADDRESS: "/tmp/m.sock",
    HOME: "/state",
    PRIMARY_ORG_ID: "org",
    LOCATION_ID: "loc",
    API_KEY_ID: "id",
    API_KEY: "key",
    MODULE_TRACING: "1",
  };
  for (const [name, value] of Object.entries(expected)) {
    assert.deepEqual([env[`MACHINE_${name}`], env[`VIAM_${name}`]], [value, value], name);
  }
  for (const [name, value] of [["FQDN", "m.example"], ["ID", "machine"], ["PART_ID", "part"]]) {
    assert.deepEqual([env[`MACHINE_${name}`], env[`VIAM_MACHINE_${name}`]], [value, value]);
  }
});

Deno.test("moduleEnvironment() keeps the server's variables, and leaves empty values out", () => {
  const env = moduleEnvironment({
    ...input,
    facts: { ...input.facts, apiKey: "", apiKeyId: "", tracing: false },
  });
  assert.equal(env["MACHINE_LOGFILE"], "/l");
  assert(!("MACHINE_API_KEY" in env));
  assert(!("VIAM_MODULE_TRACING" in env));
});

Deno.test("moduleEnvironment() lets the configuration of the module have the last word", () => {
  const env = moduleEnvironment(input);
  assert.deepEqual([env["OWN"], env["PATH"]], ["1", "/m/bin"]);
});
