import assert from "node:assert/strict";
import { AgentDeviceService } from "../../../shared/gen/viam/app/agent/v1/agent_pb.ts";
import { ConsoleService } from "../../../shared/gen/machine/cloud/v1/machine_pb.ts";
import { addRelease, releases } from "../catalogue/releases_testing.ts";
import { apiKey, partSecret, TestCloud } from "../../serve/cloud_testing.ts";

const SHA256 = "ab".repeat(32);

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
  assert.equal(answer.agentUpdateInfo, undefined, "an empty one is an error to stock agents");
  assert.equal(answer.viamServerUpdateInfo?.version, "customURL");
  assert.equal(answer.viamServerUpdateInfo?.url, "file:///opt/launcher");
  assert.equal(answer.viamServerUpdateInfo?.filename, "viam-server");
  assert.deepEqual(answer.advancedSettings, {
    ...agent.advanced_settings,
    viam_server_env: { A: "b" },
  });
  assert.deepEqual(answer.additionalNetworks, agent.additional_networks);
  assert.deepEqual(answer.systemConfiguration, {});
  assert.equal(live.agentVersion, "1.2.3");
  assert.equal(live.online, false, "an agent alone does not make its machine online");
});

Deno.test("DeviceAgentConfig() says in the part's status why there is nothing to install", async () => {
  await using cloud = await TestCloud.open();
  const made = await cloud.bootstrap({
    config: { agent: { version_control: { "agent": "1.2.3", "viam-server": "9.9.9" } } },
  });
  const device = cloud.client(AgentDeviceService, partSecret(made));
  const answer = await device.deviceAgentConfig({
    id: made.part_id,
    hostInfo: { platform: "linux/arm64" },
    versionInfo: { agentRunning: "1.0.0", agentInstalled: "1.1.0", viamServerRunning: "0.9.0" },
  });
  const live = await cloud.client(ConsoleService, apiKey(made))
    .getPartLiveStatus({ partId: made.part_id });

  assert.equal(answer.viamServerUpdateInfo, undefined);
  assert.match(live.serverTarget?.problem ?? "", /there is no release 9\.9\.9 of machine-server/);
  assert.match(live.agentTarget?.problem ?? "", /there is no release 1\.2\.3 of machine-agent/);
  assert.deepEqual([live.agent?.agent?.installed, live.agent?.agent?.running], ["1.1.0", "1.0.0"]);
  assert.equal(live.agent?.server?.running, "0.9.0");
  assert.equal(live.agent.platform, "linux/arm64");
  assert.ok(live.agentReportedAt);
});

Deno.test("GetPartLiveStatus() shows an address without the secrets in it", async () => {
  await using cloud = await TestCloud.open();
  const url = "https://user:word@files/server?token=abc";
  const config = { agent: { version_control: { "machine-server": `${url}#sha256=${SHA256}` } } };
  const made = await cloud.bootstrap({ config });
  const device = cloud.client(AgentDeviceService, partSecret(made));
  const { viamServerUpdateInfo: info } = await device.deviceAgentConfig({
    id: made.part_id,
    hostInfo: { platform: "windows/amd64" },
    versionInfo: { viamServerInstalled: `customURL+${url}` },
  });
  const live = await cloud.client(ConsoleService, apiKey(made))
    .getPartLiveStatus({ partId: made.part_id });
  assert.deepEqual([info?.url, info?.sha256.toHex()], [url, SHA256]);
  assert.equal(info?.filename, "viam-server", "stock agents add .exe by themselves");
  assert.equal(live.serverTarget?.url, "https://files/server");
  assert.equal(live.serverTarget?.asked, "https://files/server");
  assert.ok(live.serverTarget.pinned);
  assert.equal(live.agent?.server?.installed, "customURL+https://files/server");
});

Deno.test("DeviceAgentConfig() has every setting under both names that agents know", async () => {
  await using cloud = await TestCloud.open();
  const settings = { viam_server_env: { A: "b" }, disable_machine_server: true, other: 1 };
  const made = await cloud.bootstrap({ config: { agent: { advanced_settings: settings } } });
  const device = cloud.client(AgentDeviceService, partSecret(made));
  const { advancedSettings } = await device.deviceAgentConfig({ id: made.part_id });
  assert.deepEqual(advancedSettings, {
    ...settings,
    machine_server_env: { A: "b" },
    disable_viam_server: true,
  });
});

Deno.test("DeviceAgentConfig() offers our agent to ours alone, and an address to all", async () => {
  await using cloud = await TestCloud.open();
  const made = await cloud.bootstrap();
  await addRelease(releases(cloud, made), "1.0.0", { binary: "machine-agent" });
  const device = cloud.client(AgentDeviceService, partSecret(made));
  const question = { id: made.part_id, hostInfo: { platform: "linux/amd64" } };
  const offered = async (userAgent?: string) => {
    const headers: HeadersInit = userAgent === undefined ? {} : { "user-agent": userAgent };
    return (await device.deviceAgentConfig(question, { headers })).agentUpdateInfo;
  };
  const ours = [await offered(), await offered("grpc-node-js/1.13.0")];
  assert.deepEqual(ours.map((info) => info?.version), ["1.0.0", "1.0.0"]);
  assert.equal(await offered("grpc-go/1.75.0"), undefined);

  const app = cloud.app(made);
  const { part } = await app.getRobotPart({ id: made.part_id });
  await app.updateRobotPart({
    id: made.part_id,
    name: part?.name ?? "",
    robotConfig: { agent: { version_control: { agent: "https://files/viam-agent" } } },
  });
  const info = await offered("grpc-go/1.75.0");
  assert.deepEqual(
    [info?.version, info?.url, info?.filename],
    ["customURL", "https://files/viam-agent", "viam-agent"],
  );
});
