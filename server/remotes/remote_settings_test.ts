import assert from "node:assert/strict";
import { addressOf, isCloudName, remoteSettings } from "./remote_settings.ts";

Deno.test("remoteSettings() fills in ports and intervals", () => {
  const settings = remoteSettings({ name: "r", address: "arm.lab.example.com" });
  assert.deepEqual(settings, {
    name: "r",
    prefix: "",
    host: "arm.lab.example.com",
    port: 8080,
    insecure: false,
    tls: false,
    credentials: undefined,
    checkEveryMs: 1_000,
    reconnectAfterMs: 1_000,
    serviceConfigs: [],
  });
});

Deno.test("remoteSettings() reads every form of an address", () => {
  for (
    const [address, host, port, insecure, tls] of [
      ["10.0.0.7", "10.0.0.7", 8080, false, false],
      ["10.0.0.7:9000", "10.0.0.7", 9000, false, false],
      ["::1", "::1", 8080, false, false],
      ["[fe80::1]:9000", "fe80::1", 9000, false, false],
      ["http://rover.local:81/", "rover.local", 81, true, false],
      ["https://rover:8443", "rover", 8443, false, true],
      ["h:80", "h", 80, false, false],
    ] as const
  ) {
    const found = remoteSettings({ name: "r", address });
    assert.deepEqual(
      [found.host, found.port, found.insecure, found.tls],
      [host, port, insecure, tls],
      address,
    );
  }
  for (const address of ["", "a b", "host/path", "http://", "host:port"]) {
    assert.throws(() => remoteSettings({ name: "r", address }), /names no host/, address);
  }
});

Deno.test("remoteSettings() takes the secret of old configurations as the location's", () => {
  const { credentials } = remoteSettings({ name: "r", address: "h:1", secret: "s" });
  assert.equal(credentials?.type, "robot-location-secret");
  assert.equal(credentials?.entity, "h");
  assert.equal(credentials?.payload.reveal(), "s");
  const auth = { entity: "id", credentials: { type: "api-key", payload: "k" } };
  const key = remoteSettings({ name: "r", address: "h", secret: "s", auth }).credentials;
  assert.deepEqual([key?.type, key?.entity, key?.payload.reveal()], ["api-key", "id", "k"]);
});

Deno.test("remoteSettings() bounds intervals from below", () => {
  const written = { connection_check_interval: "1ms", reconnect_interval: "5s" };
  const { checkEveryMs, reconnectAfterMs } = remoteSettings({
    ...{ name: "r", address: "h", ...written },
  });
  assert.deepEqual([checkEveryMs, reconnectAfterMs], [100, 5_000]);
});

Deno.test("isCloudName() leaves out addresses and names of local networks", () => {
  const names = ["a.b.example.com", "10.0.0.1", "::1", "localhost", "rover", "rover.local"];
  assert.deepEqual(names.map(isCloudName), [true, false, false, false, false, false]);
});

Deno.test("addressOf() puts IPv6 addresses into brackets", () => {
  assert.equal(addressOf({ host: "::1", port: 1 }, "https"), "https://[::1]:1");
  assert.equal(addressOf({ host: "h", port: 80 }, "http"), "http://h:80");
});
