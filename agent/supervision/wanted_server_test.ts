import assert from "node:assert/strict";
import { defaultAgentSettings } from "../../shared/config/agent_settings.ts";
import { serverCommand } from "./server_command.ts";
import { type LaunchedServer, restartReason, wantedServer } from "./wanted_server.ts";

const version = { version: "customURL", url: "file:///a", path: "/a" };
const launched: LaunchedServer = { version, env: { A: "1" }, startedMs: 0 };
const wanted = { ...wantedServer(defaultAgentSettings(), version), env: { A: "1" } };

Deno.test("restartReason() tells why only when something differs", () => {
  assert.equal(restartReason(launched, wanted), undefined);
  assert.equal(restartReason(launched, { ...wanted, env: { A: "1" } }), undefined);
  assert.match(restartReason(launched, { ...wanted, env: { A: "2" } }) ?? "", /machine_server_env/);
  assert.match(restartReason(launched, { ...wanted, env: {} }) ?? "", /machine_server_env/);
  assert.match(restartReason(launched, { ...wanted, env: { B: "1" } }) ?? "", /machine_server_env/);
  const newer = { ...version, url: "file:///b", path: "/b" };
  assert.match(restartReason(launched, { ...wanted, version: newer }) ?? "", /version/);
  assert.equal(restartReason(launched, { ...wanted, version: undefined }), undefined);
  assert.equal(restartReason(launched, { ...wanted, isEnabled: false, version: newer }), undefined);
});

Deno.test("wantedServer() reads the settings", () => {
  const settings = defaultAgentSettings();
  settings.advanced_settings.disable_machine_server = true;
  settings.advanced_settings.machine_server_start_timeout_minutes = 2;
  const { isEnabled, startTimeoutMs } = wantedServer(settings, version);
  assert.deepEqual([isEnabled, startTimeoutMs], [false, 120_000]);
});

Deno.test("serverCommand() lets machine_server_env win over the agent's environment", () => {
  const command = serverCommand({
    program: "/opt/machine/bin/machine-server",
    credentialsFile: "/etc/machine.json",
    dir: "/opt/machine",
    inherited: { PATH: "/bin", A: "1" },
    configured: { A: "2", VIAM_AGENT_HANDLES_NEEDS_RESTART_CHECKING: "false" },
  });
  assert.deepEqual(command.args, ["-config", "/etc/machine.json"]);
  assert.equal(command.cwd, "/opt/machine");
  assert.deepEqual(command.env, {
    PATH: "/bin",
    A: "2",
    MACHINE_AGENT_HANDLES_NEEDS_RESTART: "true",
    VIAM_AGENT_HANDLES_NEEDS_RESTART_CHECKING: "true",
  });
});
