import { deepStrictEqual, strictEqual } from "node:assert/strict";
import { formatPath, formatProblem, problemAt } from "./problem.ts";
import { isSecretKey, maskSecrets } from "./secrets.ts";

Deno.test("formatPath() writes JSON paths", () => {
  strictEqual(formatPath(["components", 0, "name"]), "components[0].name");
  strictEqual(
    formatPath(["agent", "version_control", "machine-server"]),
    "agent.version_control.machine-server",
  );
  strictEqual(
    formatPath(["agent", "additional_networks", "my wifi"]),
    'agent.additional_networks["my wifi"]',
  );
  strictEqual(formatPath([]), "");
});

Deno.test("formatProblem() makes one sentence", () => {
  const problem = problemAt(["jobs", 1, "name"], "", "the name is empty", "any text");
  strictEqual(
    formatProblem(problem),
    'jobs[1].name: the name is empty (found: "", allowed: any text)',
  );
  const whole = problemAt([], 7, "this is the wrong kind of value");
  strictEqual(formatProblem(whole), "configuration: this is the wrong kind of value (found: 7)");
});

Deno.test("problemAt() hides secrets in found", () => {
  const secret = [
    ["cloud", "secret"],
    ["cloud", "api_key", "key"],
    ["cloud", "location_secrets", 0, "secret"],
    ["cloud", "tls_private_key"],
    ["agent", "network_configuration", "hotspot_password"],
    ["agent", "additional_networks", "home", "psk"],
    ["agent", "advanced_settings", "machine_server_env", "ANY"],
    ["modules", 0, "env", "ANY"],
    ["processes", 0, "env", "ANY"],
    ["remotes", 0, "auth", "credentials", "payload"],
    ["remotes", 0, "secret"],
    ["auth", "handlers", 0, "config", "some-key-id"],
    ["triggers", 0, "notifications", 0, "auth", "basic", "password"],
  ];
  for (const path of secret) {
    strictEqual(problemAt(path, "hunter2", "x").found, "******", formatPath(path));
  }
  strictEqual(problemAt(["cloud", "secret"], undefined, "x").found, "nothing");
  const open = [
    ["network", "tls_key_file"],
    ["maintenance", "maintenance_allowed_key"],
    ["cloud", "api_key", "id"],
    ["auth", "handlers", 0, "config", "keys"],
    ["components", 0, "name"],
  ];
  for (const path of open) strictEqual(problemAt(path, "x", "x").found, '"x"', formatPath(path));
});

Deno.test("problemAt() shortens long texts and hides passwords in URLs", () => {
  const { found } = problemAt(["a"], "x".repeat(1000), "x");
  strictEqual(found.length, 82);
  const url = problemAt(["a"], "rtsp://me:hunter2@cam/1", "x").found;
  strictEqual(url, '"rtsp://******@cam/1"');
});

Deno.test("isSecretKey() knows keys in snake case, kebab case and camel case", () => {
  for (
    const key of ["key", "psk", "apiKey", "api-key", "client_secret", "accessToken", "Password"]
  ) {
    strictEqual(isSecretKey(key), true, key);
  }
  for (
    const key of ["tls_key_file", "maintenance_allowed_key", "keys", "keyboard", "monkey", "id"]
  ) {
    strictEqual(isSecretKey(key), false, key);
  }
});

Deno.test("maskSecrets() hides values and keeps the form", () => {
  deepStrictEqual(
    maskSecrets({
      name: "a",
      env: { A: "1" },
      api_key: { id: "i", key: "k" },
      attributes: { pins: [1], auth: { token: "t" }, url: "http://u:p@h/" },
      empty: { password: "" },
    }),
    {
      name: "a",
      env: { A: "******" },
      api_key: { id: "i", key: "******" },
      attributes: { pins: [1], auth: { token: "******" }, url: "http://******@h/" },
      empty: { password: "" },
    },
  );
  deepStrictEqual(
    maskSecrets({ handlers: [{ type: "api-key", config: { k1: "v", keys: ["k1"] } }] }, "auth"),
    { handlers: [{ type: "api-key", config: { k1: "******", keys: ["k1"] } }] },
  );
});
