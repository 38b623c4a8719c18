import assert from "node:assert/strict";
import { FakeClock } from "../../shared/base/time/fake_clock.ts";
import { memoryLogger } from "../../shared/log/memory_logger_testing.ts";
import { FakeProvisioning } from "./fake_provisioning.ts";
import type { ProvisioningSite, ProvisioningWay, WayDeps } from "./provisioning_way.ts";
import { WayRunner } from "./run_ways.ts";

const site: ProvisioningSite = {
  port: new FakeProvisioning(),
  address: "10.42.0.1",
  settings: {} as ProvisioningSite["settings"],
  name: "setup",
};

Deno.test("run() begins the ways of a kind, tries a failing one again, and ends all", async () => {
  const clock = new FakeClock();
  const told: string[] = [];
  let failures = 2;
  const way = (name: string, over: ProvisioningWay["over"]): ProvisioningWay => ({
    name,
    over,
    start: () => {
      if (name === "weak" && failures-- > 0) return Promise.reject(new Error("port in use"));
      told.push(`${name} begins`);
      return Promise.resolve({
        [Symbol.asyncDispose]: () => Promise.resolve(void told.push(`${name} ends`)),
      });
    },
  });
  const log = memoryLogger();
  const runner = new WayRunner({
    ways: [
      () => way("portal", "hotspot"),
      () => Promise.reject(new Error("no such file")),
      () => way("weak", "hotspot"),
      () => way("bluetooth", "bluetooth"),
    ],
    deps: {} as WayDeps,
    clock,
    log,
  });
  const stop = new AbortController();
  const running = runner.run("hotspot", site, stop.signal);
  await clock.advance(4_999);
  assert.deepEqual(told, ["portal begins"]);
  await clock.advance(10_000);
  assert.deepEqual(told, ["portal begins", "weak begins"]);
  stop.abort();
  await running;
  assert.deepEqual(told.slice(2).sort(), ["portal ends", "weak ends"]);
  assert.equal(clock.pendingTimers, 0);
});
