import assert from "node:assert/strict";
import { Scope } from "../../accounts/access/scope.ts";
import { TrainingRig } from "./rig_testing.ts";
import { JobList } from "./job_list.ts";

Deno.test("JobList.list() reads again what changed, and only that", async () => {
  await using rig = await TrainingRig.open();
  const { queries } = rig.cloud.folder.database;
  const scope = new Scope(queries, {
    actor: { type: "api-key", id: "k" },
    orgId: rig.orgId,
    grants: [{ role: "owner", resource: "organization", id: rig.orgId }],
  });
  const told = new JobList();
  // More than one statement reads.
  for (let n = 0; n < 600; n++) await rig.jobs.submit(rig.newJob(String(n)));
  const first = await told.list(scope, undefined);
  const versions = Array.from({ length: 600 }, (_, at) => String(599 - at));
  assert.deepEqual(first.map((job) => job.modelVersion), versions);

  const id = first[10]?.id ?? "";
  for (const event of ["start", "complete"] as const) {
    await rig.jobs.apply(id, event, { package_id: `after ${event}` });
    const next = await told.list(scope, undefined);
    const changed = next.flatMap((job, at) => job === first[at] ? [] : [at]);
    assert.deepEqual(changed, [10], event);
    assert.equal(next[10]?.syncedModelId, `after ${event}`);
  }
});
