import assert from "node:assert/strict";
import { apiWay } from "../../agent/provisioning/api/api_way.ts";
import { FakeProvisioning, visibleNetwork } from "../../agent/provisioning/fake_provisioning.ts";
import { FakeClock } from "../../shared/base/time/fake_clock.ts";
import { defaultAgentSettings } from "../../shared/config/agent_settings.ts";
import { memoryLogger } from "../../shared/log/memory_logger.ts";
import { runPython } from "../e2e/python_sdk.ts";

Deno.test("the published Python SDK's ProvisioningClient sets a machine up, by all of its calls", async () => {
  const port = new FakeProvisioning();
  port.visible = [visibleNetwork("Home", { signal: 80 })];
  const log = memoryLogger();
  const settings = defaultAgentSettings().network_configuration;
  const site = { port, address: "127.0.0.1", settings, name: "m" };
  await using _way = await apiWay({ clock: new FakeClock(), log }, 0).start(site);
  const { stdout } = await runPython(new URL("provisioning_tour.py", import.meta.url), [
    String(log.entries.at(-1)?.fields["port"]),
  ]);
  const [last = ""] = new TextDecoder().decode(stdout).trim().split("\n").slice(-1);
  assert.deepEqual(JSON.parse(last), {
    networks: [["Home", "WPA2", 80]],
    model: "Rover <2>",
    agent: "1.2.3",
    online: false,
    uncalled: [],
  });
  assert.equal(port.network?.psk, "a password");
  assert.deepEqual(port.credentials, {
    ...{ appAddress: "https://cloud.example.com", partId: "part", key: { secret: "s" } },
  });
});
