import assert from "node:assert/strict";
import type { JsonObject } from "@bufbuild/protobuf";
import { preparedConfig } from "./demo_config.ts";

const here = {
  bindAddress: "127.0.0.1:8081",
  serverUrl: "file:///here/bin/machine-server",
  webhookUrl: "http://127.0.0.1:4000/",
};
const there = {
  bindAddress: "127.0.0.1:9001",
  serverUrl: "file:///there/bin/machine-server",
  webhookUrl: "http://127.0.0.1:5000/",
};

Deno.test("preparedConfig() gives a new machine a host sensor and its places", () => {
  const config = preparedConfig({}, here);
  assert.ok(Array.isArray(config?.components));
  const [host] = config.components;
  assert.equal((host as JsonObject).model, "rdk:builtin:host");
  assert.deepEqual(config.network, { bind_address: here.bindAddress });
  assert.deepEqual(config.agent, { version_control: { "machine-server": here.serverUrl } });
});

Deno.test("preparedConfig() leaves a configuration alone when port and program are the same", () => {
  assert.equal(preparedConfig({ ...preparedConfig({}, here), components: [] }, here), undefined);
});

Deno.test("preparedConfig() keeps what a user changed when port and program are others", () => {
  const services: JsonObject[] = [];
  const config = {
    ...preparedConfig({}, here),
    components: [],
    services,
    triggers: [{ name: "mine", notifications: [] }],
    network: { bind_address: here.bindAddress, no_tls: true },
  };
  assert.deepEqual(preparedConfig(config, there), {
    components: [],
    services,
    triggers: config.triggers,
    network: { bind_address: there.bindAddress, no_tls: true },
    agent: { version_control: { "machine-server": there.serverUrl } },
  });
});

Deno.test("preparedConfig() adds the sections when a user took them away", () => {
  assert.deepEqual(preparedConfig({ network: null }, there), {
    network: { bind_address: there.bindAddress },
    agent: { version_control: { "machine-server": there.serverUrl } },
  });
});

Deno.test("preparedConfig() leads the demo's trigger to this run, and changes nothing else of it", () => {
  const { triggers } = preparedConfig({}, here) as { triggers: JsonObject[] };
  const changed = { ...triggers[0], disabled: true };
  const config = { ...preparedConfig({}, here), triggers: [{ name: "mine" }, changed] };
  const next = preparedConfig(config, { ...here, webhookUrl: there.webhookUrl });
  const [mine, led] = next?.["triggers"] as JsonObject[];
  assert.deepEqual(mine, { name: "mine" });
  const [notification] = led?.["notifications"] as JsonObject[];
  assert.equal(notification?.["value"], there.webhookUrl);
  assert.equal(led?.["disabled"], true);
  assert.equal(preparedConfig({ ...config }, here), undefined);
});
