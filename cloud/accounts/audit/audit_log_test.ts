import assert from "node:assert/strict";
import { FakeClock } from "../../../shared/base/time/fake_clock.ts";
import { TestCloud } from "../../serve/cloud_testing.ts";
import { AuditLog, recordCommand } from "./audit_log.ts";

const DAY_MS = 24 * 60 * 60_000;

Deno.test("AuditLog.sweep() deletes what is older than the retention, and nothing with none", async () => {
  await using cloud = await TestCloud.open();
  const { queries } = cloud.folder.database;
  const clock = new FakeClock();
  const now = clock.now().getTime();
  for (const days of [0, 29, 31, 500]) {
    const what = { orgId: "o", action: `${days} days ago`, target: {} };
    await recordCommand(queries, what, new Date(now - days * DAY_MS));
  }
  const kept = async (retentionDays: number) => {
    const log = new AuditLog(queries, clock, retentionDays);
    await log.sweep();
    const { rows } = await log.page({ orgId: "o" }, { size: 0, token: "" });
    return rows.map(({ action }) => action);
  };
  assert.deepEqual(await kept(0), ["500 days ago", "31 days ago", "29 days ago", "0 days ago"]);
  assert.deepEqual(await kept(400), ["31 days ago", "29 days ago", "0 days ago"]);
  assert.deepEqual(await kept(30), ["29 days ago", "0 days ago"]);
});
