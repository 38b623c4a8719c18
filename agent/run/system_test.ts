import assert from "node:assert/strict";
import { AgentRig } from "./testing.ts";

Deno.test("where there is no systemd, what asks for it is told once, in log, status and cloud", async () => {
  await using rig = await AgentRig.create();
  rig.cloud.answer = {
    ...rig.cloud.answer,
    systemConfiguration: { os_auto_upgrade_type: "all", forward_system_logs: "sshd" },
  };
  const { stop } = rig.run();
  const text = "system_configuration has no effect on this host: it needs systemd";
  const report = await rig.reported(({ system }) => system?.upgrades.state === "no-effect");
  assert.deepEqual(report.settings_problems, [text]);
  assert.deepEqual(report.system?.upgrades, { state: "no-effect", text });
  assert.equal(report.system?.journald.state, "untouched", "its limits are those by default");
  await rig.reported(({ system }) => system?.log_forwarding.state === "no-effect");
  await stop();
  assert.ok(rig.logs().some((line) => line.includes(text)), rig.logs().join("\n"));
});
