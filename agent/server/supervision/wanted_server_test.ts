import assert from "node:assert/strict";
import { defaultAgentSettings } from "../../../shared/config/agent_settings_testing.ts";
import { serverCommand } from "./server_command.ts";
import { type LaunchedServer, restartReason, wantedServer } from "./wanted_server.ts";

const version = { version: "customURL", url: "file:///a", path: "/a" };
const launched: LaunchedServer = { version, env: { A: "1" }, startedMs: 0 };
const wanted = { ...wantedServer(defaultAgentSettings(), version), env: { A: "1" } };

Deno.test("restartReason() tells why only when the environment differs", () => {
  assert.equal(restartReason(launched, wanted), undefined);
  assert.equal(restartReason(launched, { ...wanted, env: { A: "1" } }), undefined);
  for (const env of [{ A: "2" }, {}, { B: "1" }, { A: "1", B: "" }]) {
    assert.match(restartReason(launched, { ...wanted, env }) ?? "", /machine_server_env/);
  }
  const env = { A: "2" };
  assert.equal(restartReason(launched, { ...wanted, env, version: undefined }), undefined);
  assert.equal(restartReason(launched, { ...wanted, env, isEnabled: false }), undefined);
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
    inherited: {
      PATH: "/bin",
      A: "1",
      NOTIFY_SOCKET: "/run/systemd/notify",
      WATCHDOG_USEC: "30000000",
      WATCHDOG_PID: "1",
    },
    configured: { A: "2", VIAM_AGENT_HANDLES_NEEDS_RESTART_CHECKING: "false" },
  });
  assert.deepEqual(command.args, ["-config", "/etc/machine.json"]);
  assert.equal(command.cwd, "/opt/machine");
  assert.deepEqual(command.env, {
    PATH: "/bin",
    A: "2",
    MACHINE_PASS_ENV: "A,VIAM_AGENT_HANDLES_NEEDS_RESTART_CHECKING",
    MACHINE_AGENT_HANDLES_NEEDS_RESTART: "true",
    VIAM_AGENT_HANDLES_NEEDS_RESTART_CHECKING: "true",
  }, "what systemd says to the agent stays with the agent");
});
