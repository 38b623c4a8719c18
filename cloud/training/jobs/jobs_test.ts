import assert from "node:assert/strict";
import { Code } from "@connectrpc/connect";
import { PackageType } from "../../../shared/gen/viam/app/packages/v1/packages_pb.ts";
import { FakeClock } from "../../../shared/base/time/fake_clock.ts";
import { failure } from "../../serve/cloud_testing.ts";
import { JOB_STATES, type transition } from "./job_states.ts";
import { JOB_EVENTS, nextState } from "./job_states_testing.ts";
import { actorOf, actorText } from "./jobs.ts";
import { TrainingRig } from "./rig_testing.ts";

Deno.test("apply() does to a stored job what the table of states says, and else nothing", async () => {
  await using rig = await TrainingRig.open();
  const { queries } = rig.cloud.folder.database;
  const { id } = await rig.jobs.submit(rig.newJob());
  for (const state of JOB_STATES) {
    for (const event of JOB_EVENTS) {
      await queries.updateTable("training_jobs").set({ state }).where("id", "=", id).execute();
      const expected = nextState(state, event);
      const applied = await rig.jobs.apply(id, event, { metrics: '{"a":1}' });
      assert.equal(applied?.state, expected, `${state} ${event}`);
      assert.equal((await rig.jobs.byId(id))?.state, expected ?? state, `${state} ${event}`);
    }
  }
  for (const event of JOB_EVENTS) assert.equal(await rig.jobs.apply("none", event), undefined);
});

Deno.test("apply() keeps times, attempts and who canceled", async () => {
  const clock = new FakeClock();
  await using rig = await TrainingRig.open({ clock });
  const { id, created_at } = await rig.jobs.submit(rig.newJob());
  const at = () => clock.now().getTime();
  const step = async (event: Parameters<typeof transition>[0], change = {}) => {
    await clock.advance(1_000);
    const row = await rig.jobs.apply(id, event, change);
    assert.ok(row, event);
    assert.equal(row.updated_at, at());
    return row;
  };
  assert.equal(created_at, at());

  const first = await step("start", { key_id: "k" });
  assert.deepEqual([first.started_at, first.attempts, first.key_id], [at(), 1, "k"]);
  const cut = await step("requeue", { key_id: null });
  assert.deepEqual([cut.started_at, cut.attempts, cut.key_id], [null, 1, null]);
  const second = await step("start");
  assert.deepEqual([second.started_at, second.attempts, second.ended_at], [at(), 2, null]);
  await step("cancel", { canceled_by: "api-key me" });
  const last = await step("canceled");
  assert.deepEqual([last.ended_at, last.error_code, last.error_message], [
    at(),
    Code.Canceled,
    "canceled by api-key me",
  ]);
  assert.equal(last.created_at, created_at);
});

Deno.test("apply() lets only one of two that try at once have its way", async () => {
  await using rig = await TrainingRig.open();
  const { id } = await rig.jobs.submit(rig.newJob());
  const both = await Promise.all([rig.jobs.apply(id, "start"), rig.jobs.apply(id, "start")]);
  assert.equal(both.filter((row) => row !== undefined).length, 1);
});

Deno.test("submit() queues in order, and takes a version again when its job did not make it", async () => {
  await using rig = await TrainingRig.open();
  const { jobs } = rig;
  const versions = async () => (await jobs.unfinished()).map((row) => row.model_version);
  const { id: one } = await jobs.submit(rig.newJob("1"));
  await jobs.submit(rig.newJob("2"));
  const { id: three } = await jobs.submit(rig.newJob("3"));
  assert.deepEqual(await versions(), ["1", "2", "3"]);

  const taken = async (version: string) => (await failure(jobs.submit(rig.newJob(version))));
  const pending = await taken("1");
  assert.equal(pending.code, Code.AlreadyExists);
  assert.match(pending.message, new RegExp(`^model_version: .*${one} is to make 1 of shape-model`));
  await jobs.apply(one, "start");
  await jobs.apply(one, "fail", { error_code: Code.Internal, error_message: "it broke" });
  await jobs.submit(rig.newJob("1"));
  assert.deepEqual(await versions(), ["2", "3", "1"]);
  await jobs.apply(three, "start");
  await jobs.apply(three, "complete");
  assert.match((await taken("3")).message, /made 3 of shape-model; give a new version/);
});

Deno.test("submit() refuses a version that was uploaded, and the name of another package", async () => {
  await using rig = await TrainingRig.open();
  await rig.uploadScript("shape-model", "7", { type: PackageType.ML_MODEL });
  const uploaded = await failure(rig.jobs.submit(rig.newJob("7")));
  assert.equal(uploaded.code, Code.AlreadyExists);
  assert.match(uploaded.message, /^model_version: shape-model has 7 already/);
  await rig.jobs.submit(rig.newJob("8"));
  const script = await failure(rig.jobs.submit({ ...rig.newJob(), modelName: "trainer" }));
  assert.equal(script.code, Code.AlreadyExists);
  assert.match(script.message, /^model_name: "trainer" is a package of type ml_training/);
});

Deno.test("submit() counts only unfinished jobs of the organisation against its quota", async () => {
  await using rig = await TrainingRig.open({ mostUnfinished: 2 });
  const other = await rig.cloud.bootstrap({ organization: "Other" });
  const { id } = await rig.jobs.submit(rig.newJob("1"));
  await rig.jobs.submit(rig.newJob("2"));
  await rig.jobs.submit({ ...rig.newJob("3"), orgId: other.org_id });
  const refused = await failure(rig.jobs.submit(rig.newJob("3")));
  assert.equal(refused.code, Code.ResourceExhausted);
  assert.match(refused.message, /has 2 training jobs that wait or run, and no more than 2/);
  await rig.jobs.apply(id, "cancel");
  assert.equal((await failure(rig.jobs.submit(rig.newJob("3")))).code, Code.ResourceExhausted);
  await rig.jobs.apply(id, "canceled");
  await rig.jobs.submit(rig.newJob("3"));
});

Deno.test("actorOf() reads what actorText() writes", () => {
  const actor = { type: "api-key", id: "0a1b" } as const;
  assert.equal(actorText(actor), "api-key 0a1b");
  assert.deepEqual(actorOf(actorText(actor)), actor);
});
