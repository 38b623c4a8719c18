import { deepStrictEqual, strictEqual } from "node:assert/strict";
import { networkSettings, refreshIntervalMs } from "./settings.ts";

Deno.test("networkSettings() has the documented defaults", () => {
  const defaults = {
    bindAddress: "localhost:8080",
    tls: undefined,
    noTls: false,
    heartbeatWindowMs: 2000,
    tunnels: [],
  };
  deepStrictEqual(networkSettings(undefined, { hasCertificate: false }), defaults);
  deepStrictEqual(networkSettings({}, { hasCertificate: true }), {
    ...defaults,
    bindAddress: ":8080",
  });
});

Deno.test("networkSettings() takes what is set", () => {
  deepStrictEqual(
    networkSettings({
      bind_address: "0.0.0.0:9",
      tls_cert_file: "c",
      tls_key_file: "k",
      no_tls: true,
      sessions: { heartbeat_window: "50ms" },
      traffic_tunnel_endpoints: [{ port: 22 }, { port: 80, connection_timeout: "1s" }],
    }, { hasCertificate: true }),
    {
      bindAddress: "0.0.0.0:9",
      tls: { certFile: "c", keyFile: "k" },
      noTls: true,
      heartbeatWindowMs: 50,
      tunnels: [{ port: 22, connectionTimeoutMs: 10_000 }, { port: 80, connectionTimeoutMs: 1000 }],
    },
  );
});

Deno.test("refreshIntervalMs() is 10 s unless set", () => {
  strictEqual(refreshIntervalMs(undefined), 10_000);
  strictEqual(refreshIntervalMs({ refresh_interval: "0s" }), 10_000);
  strictEqual(refreshIntervalMs({ refresh_interval: "1m" }), 60_000);
});
