import assert from "node:assert/strict";
import type { Health } from "../updates/updater/control.ts";
import type { FailingWorker } from "../../shared/workers/worker_health.ts";
import { Watched } from "../../shared/workers/watched.ts";
import { AgentHealth } from "./agent_health.ts";

const good: Health = { is: "yes", why: "" };

function healthOf(change: {
  failing?: FailingWorker[];
  cloud?: boolean;
  server?: Health;
  serverFailures?: number;
  isEnabled?: boolean;
  servedBefore?: boolean;
} = {}) {
  return new AgentHealth({
    workers: { failing: () => change.failing ?? [] },
    reach: { reached: new Watched(change.cloud ?? true) },
    server: {
      healthy: () => change.server ?? good,
      failures: () => ({ count: change.serverFailures ?? 0, reason: "exited with code 1" }),
    },
    wanted: new Watched({ isEnabled: change.isEnabled ?? true }),
    servedBefore: change.servedBefore ?? true,
  });
}

const failing = (name: string, forMs: number): FailingWorker => ({
  name,
  reason: `the ${name} worker fails: boom`,
  forMs,
});

Deno.test("AgentHealth is good when workers, cloud and server are", () => {
  assert.deepEqual(healthOf().healthy(true), good);
});

Deno.test("AgentHealth wants the cloud only when it was reached before", () => {
  const offline = healthOf({ cloud: false });
  assert.equal(offline.healthy(false).is, "yes");
  const { is, why, isPaused } = offline.healthy(true);
  assert.deepEqual([is, isPaused], ["not yet", undefined], "that may be this agent's fault");
  assert.match(why, /cloud/);
});

Deno.test("AgentHealth is not good while a worker fails", () => {
  const { is, why } = healthOf({ failing: [failing("maintenance window", 1)] }).healthy(false);
  assert.deepEqual([is, why], ["not yet", "the maintenance window worker fails: boom"]);
});

Deno.test("AgentHealth wants the server to serve only when it did before and shall now", () => {
  const server: Health = { is: "not yet", why: "machine-server is starting", isPaused: true };
  assert.deepEqual(healthOf({ server }).healthy(false), server);
  assert.equal(healthOf({ server, servedBefore: false }).healthy(false).is, "yes");
  assert.equal(healthOf({ server, isEnabled: false }).healthy(false).is, "yes");
});

Deno.test("AgentHealth fails when a server that served fails again and again", () => {
  assert.equal(healthOf({ serverFailures: 2 }).healthy(false).is, "yes");
  const { is, why } = healthOf({ serverFailures: 3 }).healthy(false);
  assert.equal(is, "no");
  assert.match(why, /served before and does not now: exited with code 1/);
  assert.equal(healthOf({ serverFailures: 3, servedBefore: false }).healthy(false).is, "yes");
});

Deno.test("AgentHealth stuck() names a vital worker that fails for five minutes", () => {
  assert.equal(healthOf().stuck(), undefined);
  assert.equal(healthOf({ failing: [failing("supervision", 299_999)] }).stuck(), undefined);
  assert.equal(healthOf({ failing: [failing("status report", 1e9)] }).stuck(), undefined);
  assert.match(healthOf({ failing: [failing("supervision", 300_000)] }).stuck() ?? "", /boom/);
});
