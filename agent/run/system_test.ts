import assert from "node:assert/strict";
import { AgentBench } from "./testing.ts";

Deno.test("where there is no systemd, what asks for it is told once, in log, status and cloud", async () => {
  await using bench = await AgentBench.create();
  bench.cloud.answer = {
    ...bench.cloud.answer,
    systemConfiguration: { os_auto_upgrade_type: "all", forward_system_logs: "sshd" },
  };
  const { stop } = bench.run();
  const text = "system_configuration has no effect on this host: it needs systemd";
  const report = await bench.reported(({ system }) => system?.upgrades.state === "no-effect");
  assert.deepEqual(report.settings_problems, [text]);
  assert.deepEqual(report.system?.upgrades, { state: "no-effect", text });
  assert.equal(report.system?.journald.state, "untouched", "its limits are those by default");
  await bench.reported(({ system }) => system?.log_forwarding.state === "no-effect");
  await stop();
  assert.ok(bench.logs().some((line) => line.includes(text)), bench.logs().join("\n"));
});
