import assert from "node:assert/strict";
import { AgentDeviceService } from "../../shared/gen/viam/app/agent/v1/agent_pb.ts";
import { ConsoleService } from "../../shared/gen/machine/cloud/v1/machine_pb.ts";
import { apiKey, partSecret, TestCloud } from "../serve/test_cloud.ts";
import { updateTarget } from "./agent_settings.ts";

Deno.test("DeviceAgentConfig() gives the agent its settings and the binaries named by address", async () => {
  await using cloud = await TestCloud.open();
  const agent = {
    version_control: { agent: "stable", "machine-server": "file:///opt/launcher" },
    advanced_settings: { debug: true, machine_server_env: { A: "b" } },
    additional_networks: { office: { type: "wifi", ssid: "x", priority: 5 } },
  };
  const made = await cloud.bootstrap({ config: { agent } });
  const device = cloud.client(AgentDeviceService, partSecret(made));

  const answer = await device.deviceAgentConfig({
    id: made.part_id,
    hostInfo: { platform: "linux/amd64" },
    versionInfo: { agentRunning: "1.2.3" },
  });
  const live = await cloud.client(ConsoleService, apiKey(made))
    .getPartLiveStatus({ partId: made.part_id });

  assert.equal(answer.checkInterval?.seconds, 5n);
  assert.equal(answer.agentUpdateInfo?.version, "");
  assert.equal(answer.viamServerUpdateInfo?.version, "customURL");
  assert.equal(answer.viamServerUpdateInfo?.url, "file:///opt/launcher");
  assert.equal(answer.viamServerUpdateInfo?.filename, "machine-server");
  assert.deepEqual(answer.advancedSettings, agent.advanced_settings);
  assert.deepEqual(answer.additionalNetworks, agent.additional_networks);
  assert.deepEqual(answer.systemConfiguration, {});
  assert.equal(live.agentVersion, "1.2.3");
  assert.equal(live.online, false, "an agent alone does not make its machine online");
});

Deno.test("updateTarget() knows addresses from versions and channels", () => {
  const of = (version: string, platform = "linux/arm64") =>
    updateTarget(
      { agent: { version_control: { "viam-server": version } } },
      "machine-server",
      platform,
    );
  for (const version of ["stable", "dev", "1.2.3", "", "ftp://x"]) {
    assert.equal(of(version), undefined);
  }
  assert.equal(of("https://x/y")?.url, "https://x/y");
  assert.equal(of("http://x/y", "windows/amd64")?.filename, "machine-server.exe");
  assert.equal(updateTarget({}, "machine-agent", ""), undefined);
  assert.equal(updateTarget({ agent: [] }, "machine-agent", ""), undefined);
});
