/** Whole training jobs: submitted by a call, run by Python, read by calls. */
import assert from "node:assert/strict";
import { Code } from "@connectrpc/connect";
import type { TestEntry } from "../../shared/transfer/archive/testing.ts";
import { TrainingStatus } from "../../shared/gen/viam/app/mltraining/v1/ml_training_pb.ts";
import { waitFor } from "../../shared/base/time/wait_for.ts";
import { OBEDIENT } from "../training/runs/scripts_testing.ts";
import { failure } from "./cloud_testing.ts";
import { isRunning, TrainingCloud } from "./training_testing.ts";

const MIB = 2 ** 20;
const ignore = Deno.build.os !== "linux";
const { COMPLETED, FAILED, CANCELED } = TrainingStatus;

interface Case {
  readonly code?: string;
  readonly script?: readonly TestEntry[];
  readonly status: TrainingStatus;
  readonly error?: Code;
  /** What a person reads. */
  readonly reason?: RegExp;
  /** A line of the log. */
  readonly says?: RegExp;
  /** Its time ends it, which is short then; others have as long as a busy host needs. */
  readonly isEndless?: boolean;
  /** In the command line of what must not continue running. */
  readonly process?: string;
}

const mark = () => `3${Math.random().toString().slice(2, 10)}`;
const forked = mark();
const hung = mark();
const without = (path: string) => OBEDIENT.filter((entry) => entry.path !== path);

const CASES: Record<string, Case> = {
  "leaves a model": { code: "print('epoch 1'); save()", status: COMPLETED },
  "forks and outlives its parent": {
    code: `subprocess.Popen(["sleep", "${forked}"], start_new_session=True)
if os.fork() == 0:
    os.setsid()
    os.execvp("sleep", ["sleep", "${forked}"])
save()`,
    status: COMPLETED,
    process: forked,
  },
  "ends well without a model": {
    code: "print('nothing to do')",
    status: FAILED,
    error: Code.FailedPrecondition,
    reason: /left no file in the folder of --model_output_directory[^]*nothing to do/,
  },
  "ends with an error": {
    code: "save(); print('no shapes in the images'); sys.exit(3)",
    status: FAILED,
    error: Code.Unknown,
    reason: /the script exited with code 3; its last lines:\nno shapes in the images$/,
  },
  "eats memory": {
    code: "save(); kept = [bytearray(b'x') * (8 << 20) for _ in range(200)]; time.sleep(60)",
    status: FAILED,
    error: Code.ResourceExhausted,
    reason: /more memory than this cloud allows/,
  },
  "fills the disk": {
    code: `for number in range(10_000):
    save(f"part-{number}", "x" * (1 << 20))
    time.sleep(0.005)`,
    status: FAILED,
    error: Code.ResourceExhausted,
    reason: /more disk than this cloud allows/,
  },
  "never ends": {
    code: `subprocess.run(["sleep", "${hung}"])`,
    isEndless: true,
    status: FAILED,
    error: Code.DeadlineExceeded,
    reason: /the script took longer than 10 s, the limit of this cloud, and was terminated/,
    process: hung,
  },
  "prints without an end": {
    code: `while True:
    sys.stdout.write(("x" * 1000 + "\\n") * 1000)`,
    isEndless: true,
    status: FAILED,
    error: Code.DeadlineExceeded,
    reason: /took longer than 10 s/,
    says: /^left out \d+ lines that the script printed/m,
  },
  "has an archive that leaves its folder": {
    script: [...OBEDIENT, { path: "../../cloud.key", content: "x" }],
    status: FAILED,
    error: Code.InvalidArgument,
    reason: /the archive of the training script \S+:trainer \S+ cannot be used/,
  },
  "has no model/training.py": {
    script: without("model/training.py"),
    status: FAILED,
    error: Code.InvalidArgument,
    reason: /model\/training\.py is missing/,
  },
};

Deno.test({
  name: "a training job ends in the right status, with a reason for people, when its script",
  ignore,
  async fn(t) {
    for (const isEndless of [false, true]) {
      const wallMs = isEndless ? 10_000 : 300_000;
      const limits = { memoryBytes: 500 * MIB, diskBytes: 50 * MIB, wallMs };
      await using it = await TrainingCloud.open({ training: { limits } });
      const obedient = await it.script();
      const models: string[] = [];
      for (const [what, wanted] of Object.entries(CASES)) {
        if ((wanted.isEndless ?? false) !== isEndless) continue;
        await t.step(what, async () => {
          const { code, script, status, error, reason, says, process } = wanted;
          const id = await it.submit(script ? await it.script(script) : obedient, code);
          const job = await it.ends(id);
          const lines = await it.log(id);
          assert.ok(lines.length <= 20_001, `${lines.length} lines`);
          const log = lines.join("\n");
          assert.match(log, says ?? /^/);
          assert.equal(TrainingStatus[job.status], TrainingStatus[status], log);
          assert.equal(job.errorStatus?.code, error, log);
          assert.match(job.errorStatus?.message ?? "", reason ?? /^$/);
          if (process !== undefined) assert.equal(await isRunning(process), false);
          if (status === COMPLETED) models.unshift(job.modelVersion);
          assert.deepEqual(await it.models(), models);
          const about = job.errorStatus ? `failed: ${job.errorStatus.message}` : "the script left";
          assert.ok(log.includes(about.split("\n")[0] ?? ""), log);
        });
      }
    }
  },
});

/**
 * A line after which somebody cancels the job. The environment is not made twice when it was ready
 * once.
 */
const MOMENTS = [
  "attempt 1 starts",
  "the dataset has",
  "making a Python",
  "installing the script",
  "starting the training script",
  "I run now",
];

Deno.test({
  name: "a training job is canceled, and nothing is left, whenever that is asked for",
  ignore,
  async fn(t) {
    await using it = await TrainingCloud.open();
    const script = await it.script();
    for (const moment of MOMENTS) {
      await t.step(`after the line ${moment}`, async () => {
        const process = mark();
        const code = `save(); print("I run now"); subprocess.run(["sleep", "${process}"])`;
        const id = await it.submit(script, code);
        await it.prints(id, moment);
        await it.training.cancelTrainingJob({ id });
        const job = await it.ends(id);
        assert.equal(job.status, CANCELED);
        assert.match(job.errorStatus?.message ?? "", /^canceled by api-key /);
        assert.equal(await isRunning(process), false);
        assert.deepEqual(await it.models(), []);
      });
    }
    await t.step("while another one runs", async () => {
      const first = await it.submit(script, "time.sleep(600)");
      const second = await it.submit(script);
      await it.prints(first, "attempt 1 starts");
      await it.training.cancelTrainingJob({ id: second });
      const isCanceled = async () => (await it.job(second)).status === CANCELED;
      await waitFor(isCanceled, { deadlineMs: 60_000, what: "the end of the waiting job" });
      assert.deepEqual(await it.log(second), ["canceled"]);
      await it.training.cancelTrainingJob({ id: first });
      await it.ends(first);
    });
  },
});

Deno.test("a cloud with no training jobs takes none, and says whose wish that is", async () => {
  await using it = await TrainingCloud.open({ training: { jobs: 0 } });
  const { code, message } = await failure(it.submit(await it.script()));
  assert.equal(code, Code.FailedPrecondition);
  assert.match(message, /--training-jobs 0/);
  assert.deepEqual(
    (await it.training.listTrainingJobs({ organizationId: it.made.org_id })).jobs,
    [],
  );
});
