import assert from "node:assert/strict";
import type { JsonObject } from "@bufbuild/protobuf";
import { preparedConfig } from "./demo_config.ts";

const here = { bindAddress: "127.0.0.1:8081", serverUrl: "file:///here/bin/machine-server" };
const there = { bindAddress: "127.0.0.1:9001", serverUrl: "file:///there/bin/machine-server" };

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
  const config = {
    ...preparedConfig({}, here),
    components: [],
    network: { bind_address: here.bindAddress, no_tls: true },
  };
  assert.deepEqual(preparedConfig(config, there), {
    components: [],
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
