import assert from "node:assert/strict";
import { demoConfig, movedConfig } from "./demo_config.ts";

const here = { bindAddress: "127.0.0.1:8081", serverUrl: "file:///here/bin/machine-server" };
const there = { bindAddress: "127.0.0.1:9001", serverUrl: "file:///there/bin/machine-server" };

Deno.test("movedConfig() leaves a configuration alone when port and program are the same", () => {
  assert.equal(movedConfig(demoConfig(here), here), undefined);
});

Deno.test("movedConfig() keeps what a user changed when port and program are others", () => {
  const config = {
    ...demoConfig(here),
    components: [],
    network: { bind_address: here.bindAddress, no_tls: true },
  };
  assert.deepEqual(movedConfig(config, there), {
    components: [],
    network: { bind_address: there.bindAddress, no_tls: true },
    agent: { version_control: { "machine-server": there.serverUrl } },
  });
});

Deno.test("movedConfig() adds the sections when a user took them away", () => {
  assert.deepEqual(movedConfig({ network: null }, there), {
    network: { bind_address: there.bindAddress },
    agent: { version_control: { "machine-server": there.serverUrl } },
  });
});
