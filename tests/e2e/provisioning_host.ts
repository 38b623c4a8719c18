/** Serves portal and provisioning API at 10.42.0.1 until its input ends. For tests. */
import { FakeProvisioning, visibleNetwork } from "../../agent/provisioning/fake_provisioning.ts";
import { provisioningWays } from "../../agent/provisioning/ways.ts";
import { systemClock } from "../../shared/base/time/clock.ts";
import { defaultAgentSettings } from "../../shared/config/agent_settings_testing.ts";
import { memoryLogger } from "../../shared/log/memory_logger_testing.ts";

const port = new FakeProvisioning();
port.visible = [visibleNetwork("Home")];
const deps = {
  openBus: () => Promise.reject(new Error("there is no bus")),
  version: "1.2.3",
  clock: systemClock,
  log: memoryLogger(),
};
const settings = defaultAgentSettings().network_configuration;
for (const make of provisioningWays) {
  const way = await make(deps);
  if (way.over !== "hotspot") continue;
  await way.start({ port, address: "10.42.0.1", settings, name: "machine-setup-rover-7" });
}
await Deno.stdout.write(new TextEncoder().encode("ready\n"));
await Deno.stdin.readable.pipeTo(new WritableStream());
Deno.exit(0);
