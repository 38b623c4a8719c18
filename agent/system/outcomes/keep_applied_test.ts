import assert from "node:assert/strict";
import { FakeClock } from "../../../shared/base/time/fake_clock.ts";
import { defaultAgentSettings } from "../../../shared/config/agent_settings_testing.ts";
import { memoryLogger } from "../../../shared/log/memory_logger_testing.ts";
import { Watched } from "../../../shared/workers/watched.ts";
import { keepApplied } from "./keep_applied.ts";
import { closedGate } from "./system_gate.ts";
import { SystemStatus } from "./system_status.ts";

Deno.test("keepApplied() waits for the settings, follows them, and tries what fails again", async () => {
  const clock = new FakeClock();
  const log = memoryLogger();
  const status = new SystemStatus(log);
  const wanted = new Watched<number | undefined>(undefined);
  const applied: number[] = [];
  let isBroken = false;
  const ending = new AbortController();
  const run = keepApplied({
    changes: [wanted],
    wanted: () => wanted.value,
    apply: (value) => {
      if (isBroken) return Promise.reject(new Error("the disk is full"));
      applied.push(value);
      return Promise.resolve({ state: "applied", text: `it is ${value}` });
    },
    tell: (outcome) => status.tell("journald", outcome),
    clock,
    random: () => 1,
  }, ending.signal);
  await clock.advance(1_000);
  assert.deepEqual(applied, []);
  wanted.value = 1;
  await clock.advance(0);
  wanted.value = 1;
  await clock.advance(0);
  assert.deepEqual(applied, [1], "the same is not applied again");

  isBroken = true;
  wanted.value = 2;
  await clock.advance(10 * 60_000);
  assert.deepEqual(status.problems(), ["the disk is full"]);
  assert.equal(log.messages("error").length, 1, "told once, however often it fails");
  isBroken = false;
  clock.setNow("2020-01-01T00:00:00Z"); // The clock is set back; waits go by another one.
  await clock.advance(10 * 60_000);
  assert.deepEqual(applied, [1, 2]);
  assert.deepEqual(status.problems(), []);

  isBroken = true;
  wanted.value = 3;
  await clock.advance(0);
  isBroken = false;
  wanted.value = 4;
  await clock.advance(0);
  assert.deepEqual(applied, [1, 2, 4], "another wish does not wait for the next try");
  ending.abort();
  await assert.rejects(run);
});

const LINUX = { os: "linux", hasSystemd: true, isDevelopment: false };

Deno.test("closedGate() says why a part is left alone, and whether anybody needs to know", () => {
  const settings = defaultAgentSettings();
  assert.equal(closedGate(settings, ["os_auto_upgrade_type"], LINUX), undefined);
  for (
    const [facts, text] of [
      [{ ...LINUX, os: "windows", hasSystemd: false }, /no effect on windows/],
      [{ ...LINUX, hasSystemd: false }, /needs systemd/],
      [{ ...LINUX, isDevelopment: true }, /--dev-mode/],
    ] as const
  ) {
    const asked = {
      ...settings,
      system_configuration: { ...settings.system_configuration, os_auto_upgrade_type: "all" },
    };
    const silent = closedGate(settings, ["os_auto_upgrade_type"], facts);
    assert.equal(silent?.state, "untouched");
    const told = closedGate(asked, ["os_auto_upgrade_type"], facts);
    assert.equal(told?.state, "no-effect");
    assert.match(told?.text ?? "", text);
    assert.equal(closedGate(asked, ["forward_system_logs"], facts)?.state, "untouched");
  }
  const off = { ...settings.advanced_settings, disable_system_configuration: true };
  const closed = closedGate({ ...settings, advanced_settings: off }, [], LINUX);
  assert.equal(closed?.state, "untouched");
});

Deno.test("SystemStatus tells a reason of several parts once", () => {
  const status = new SystemStatus(memoryLogger());
  for (const part of ["journald", "upgrades"] as const) {
    status.tell(part, { state: "no-effect", text: "it needs systemd" });
  }
  assert.deepEqual(status.problems(), ["it needs systemd"]);
});
