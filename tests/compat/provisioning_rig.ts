import assert from "node:assert/strict";
import { apiWay } from "../../agent/provisioning/api/api_way.ts";
import { FakeProvisioning, visibleNetwork } from "../../agent/provisioning/fake_provisioning.ts";
import { FakeClock } from "../../shared/base/time/fake_clock.ts";
import { defaultAgentSettings } from "../../shared/config/agent_settings_testing.ts";
import { memoryLogger } from "../../shared/log/memory_logger_testing.ts";

/**
 * Serves machine-agent's API to phones for a machine that is to be set up, and checks what the tour
 * of an SDK found there and left.
 *
 * @param tour runs the tour against the API on that port; it answers what the tour wrote
 */
export async function checkProvisioning(tour: (port: number) => Promise<unknown>): Promise<void> {
  const port = new FakeProvisioning();
  port.visible = [visibleNetwork("Home", { signal: 80 })];
  const log = memoryLogger();
  const settings = defaultAgentSettings().network_configuration;
  const site = { port, address: "127.0.0.1", settings, name: "m" };
  await using _way = await apiWay({ clock: new FakeClock(), log }, 0).start(site);
  assert.deepEqual(await tour(Number(log.entries.at(-1)?.fields["port"])), {
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
}
