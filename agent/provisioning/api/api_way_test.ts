import { createClient } from "@connectrpc/connect";
import { Code } from "@connectrpc/connect";
import assert from "node:assert/strict";
import { connect } from "node:net";
import { ProvisioningService } from "../../../shared/gen/viam/provisioning/v1/provisioning_pb.ts";
import { memoryLogger } from "../../../shared/log/memory_logger_testing.ts";
import { createGrpcTransport } from "../../../shared/rpc/client/grpc_transport.ts";
import { rejection } from "../../../shared/rpc/testing.ts";
import { FakeClock } from "../../../shared/base/time/fake_clock.ts";
import { defaultAgentSettings } from "../../../shared/config/agent_settings_testing.ts";
import { FakeProvisioning, visibleNetwork } from "../fake_provisioning.ts";
import { onlyFromHotspot } from "../hotspot_peers.ts";
import { apiWay } from "./api_way.ts";

async function withApi(
  run: (rig: {
    client: ReturnType<typeof createClient<typeof ProvisioningService>>;
    port: FakeProvisioning;
    clock: FakeClock;
    tcpPort: number;
  }) => Promise<void>,
): Promise<void> {
  const port = new FakeProvisioning();
  const clock = new FakeClock();
  const log = memoryLogger();
  const settings = defaultAgentSettings().network_configuration;
  const site = { port, address: "127.0.0.1", settings, name: "m" };
  await using _way = await apiWay({ clock, log }, 0).start(site);
  const tcpPort = Number(log.entries.at(-1)?.fields["port"]);
  const transport = createGrpcTransport({ baseUrl: `http://127.0.0.1:${tcpPort}` });
  try {
    await run({ client: createClient(ProvisioningService, transport), port, clock, tcpPort });
  } finally {
    transport.close();
  }
}

Deno.test("getSmartMachineStatus() tells everything and empties the errors", () =>
  withApi(async ({ client, port }) => {
    port.errors = ["the cloud refuses the key"];
    port.attempt = {
      ssid: "Home",
      security: "wpa2",
      signal: 61,
      result: "failed",
      error: "the password is wrong",
    };
    const status = await client.getSmartMachineStatus({});
    assert.deepEqual(
      [status.provisioningInfo?.fragmentId, status.provisioningInfo?.manufacturer],
      ["fragment-1", "Acme"],
    );
    assert.equal(status.provisioningInfo?.model, "Rover <2>");
    assert.deepEqual([status.hasSmartMachineCredentials, status.isOnline], [true, false]);
    assert.equal(status.agentVersion, "1.2.3");
    const last = status.latestConnectionAttempt;
    assert.deepEqual(
      [last?.type, last?.ssid, last?.security, last?.signal, last?.connected, last?.lastError],
      ["wifi", "Home", "WPA2", 61, false, "the password is wrong"],
    );
    assert.deepEqual(status.errors, ["the cloud refuses the key"]);
    assert.deepEqual((await client.getSmartMachineStatus({})).errors, []);
    assert.equal(port.active, 2);
  }));

Deno.test("getNetworkList() tells security and strength, and asks for a scan", () =>
  withApi(async ({ client, port }) => {
    port.visible = [
      visibleNetwork("Home", { signal: 80 }),
      visibleNetwork("Café", { security: "open", signal: 30 }),
    ];
    const { networks } = await client.getNetworkList({});
    assert.deepEqual(
      networks.map(({ ssid, security, signal, connected }) => [ssid, security, signal, connected]),
      [["Home", "WPA2", 80, false], ["Café", "-", 30, false]],
    );
    assert.equal(port.scans, 1);
  }));

Deno.test("exitProvisioning() tries what was given, after its answer", () =>
  withApi(async ({ client, port, clock }) => {
    const odd = Uint8Array.of(0x63, 0xff);
    port.visible = [visibleNetwork(odd)];
    await client.setNetworkCredentials({ type: "wifi", ssid: "c\ufffd", psk: "long enough" });
    assert.deepEqual(port.network, { ssid: odd, psk: "long enough", isHidden: false });
    await client.setNetworkCredentials({ type: "wifi", ssid: "Hidden", psk: "" });
    assert.equal(port.network.isHidden, true);
    const cloud = { id: "part", secret: "hush", appAddress: "https://cloud.test:443" };
    await client.setSmartMachineCredentials({ cloud });
    assert.deepEqual(port.credentials, {
      appAddress: "https://cloud.test",
      partId: "part",
      key: { secret: "hush" },
    });
    await client.setSmartMachineCredentials({
      cloud: { ...cloud, secret: "", apiKey: { id: "key", key: "value" } },
    });
    assert.deepEqual(port.credentials.key, { id: "key", key: "value" });
    await client.exitProvisioning({});
    await client.exitProvisioning({});
    assert.equal(port.commits, 0);
    await clock.advance(1_000);
    assert.equal(port.commits, 1);
  }));

Deno.test("the setters refuse what cannot be used, without a secret in the answer", () =>
  withApi(async ({ client, port }) => {
    const cloud = { id: "part", secret: "hush", appAddress: "https://cloud.test" };
    const refused = await Promise.all([
      rejection(client.setNetworkCredentials({ type: "wired", ssid: "x" })),
      rejection(client.setNetworkCredentials({ type: "wifi", ssid: "" })),
      rejection(client.setNetworkCredentials({ type: "wifi", ssid: "é".repeat(17) })),
      rejection(client.setNetworkCredentials({ type: "wifi", ssid: "Home", psk: "hush" })),
      rejection(client.setSmartMachineCredentials({})),
      rejection(client.setSmartMachineCredentials({ cloud: { ...cloud, secret: "" } })),
      rejection(
        client.setSmartMachineCredentials({ cloud: { ...cloud, appAddress: "http://x.test" } }),
      ),
      rejection(
        client.setSmartMachineCredentials({ cloud: { ...cloud, secret: "hush".repeat(200) } }),
      ),
      rejection(client.setSmartMachineCredentials({ cloud: { ...cloud, id: "a\nb" } })),
    ]);
    for (const error of refused) {
      assert.equal(error.code, Code.InvalidArgument, error.message);
      assert.ok(!error.message.includes("hush"), error.message);
    }
    assert.deepEqual([port.network, port.credentials], [undefined, undefined]);
  }));

Deno.test("a message over 64 KiB is refused", () =>
  withApi(async ({ client, port }) => {
    const psk = "x".repeat(64 * 1024);
    const error = await rejection(client.setNetworkCredentials({ type: "wifi", ssid: "x", psk }));
    assert.equal(error.code, Code.ResourceExhausted);
    assert.equal(port.network, undefined);
  }));

Deno.test("the number of connections has a bound", () =>
  withApi(async ({ tcpPort }) => {
    const closed = Promise.withResolvers<void>();
    const sockets = Array.from({ length: 100 }, () => {
      const socket = connect(tcpPort, "127.0.0.1");
      socket.on("close", () => closed.resolve());
      socket.on("error", () => closed.resolve());
      return socket;
    });
    await closed.promise;
    for (const socket of sockets) socket.destroy();
  }));

Deno.test("onlyFromHotspot() lets in who is on the hotspot's network", () => {
  const admit = onlyFromHotspot("10.42.0.1");
  assert.equal(admit({ remoteAddress: "10.42.0.77" }), undefined);
  for (const remoteAddress of ["10.42.1.77", "192.168.1.4", "127.0.0.1", "::1"]) {
    assert.equal(admit({ remoteAddress }), "it does not come from the hotspot");
  }
});
