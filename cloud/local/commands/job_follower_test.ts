import { create } from "@bufbuild/protobuf";
import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import { Code, ConnectError } from "@connectrpc/connect";
import assert from "node:assert/strict";
import {
  type GetTrainingJobLogsResponse,
  GetTrainingJobLogsResponseSchema,
  GetTrainingJobResponseSchema,
  type TrainingJobLogEntry,
  TrainingStatus,
} from "../../../shared/gen/viam/app/mltraining/v1/ml_training_pb.ts";
import { FakeClock } from "../../../shared/base/time/fake_clock.ts";
import { waitFor } from "../../../shared/base/time/wait_for.ts";
import { followJob } from "../../../shared/commands/training/job_follower.ts";
import { JobLogReader } from "../../../shared/commands/training/job_log_reader.ts";
import { TrainingRig } from "./training_rig_testing.ts";

Deno.test("training logs -f prints each line once until the job has ended", async () => {
  await using rig = await TrainingRig.open();
  await rig.dataset("shapes");
  await rig.script("upload", await rig.writeScript(), "--name", "counts");
  const id = await rig.submit("m", "--model-version", "1");
  const run = await rig.runOf(id);
  let seen = "";
  const following = rig.follow(["logs", "-f", id], (text) => seen += text);
  for (const message of ["epoch 1", "epoch 2"]) {
    run.output.line("info", message);
    await waitFor(() => seen.includes(message), { deadlineMs: 60_000, what: message });
  }
  run.output.line("warn", "saved");
  await rig.train(run);
  const printed = (await following).trim().split("\n");
  assert.equal(printed.pop(), `training job ${id} made version 1 of ${rig.made.org_id}/m`);
  const said = printed.map((text) => /^2\S+T\S+ (\S+ +.+)$/.exec(text)?.[1]);
  const own = said.filter((text) => /epoch|saved/.test(text ?? ""));
  assert.deepEqual(own, ["info  epoch 1", "info  epoch 2", "warn  saved"]);
  const once = (await rig.run("logs", id, "--json")).trim().split("\n");
  const messages = once.map((text) => JSON.parse(text).message);
  assert.deepEqual(messages, said.map((text) => text?.replace(/^\S+ +/, "")));
});

for (const flag of ["--wait", "--follow"]) {
  Deno.test(`training submit ${flag} fails with the reason when the job fails`, async () => {
    await using rig = await TrainingRig.open();
    await rig.dataset("shapes");
    await rig.script("upload", await rig.writeScript(), "--name", "counts");
    const submit = ["submit", "--dataset", "shapes", "--script", "counts", "--model", "m", flag];
    let seen = "";
    const submitting = rig.follow(submit, (text) => seen += text);
    const id = await waitFor(() => /training job (\S+) is submitted\n/.exec(seen)?.[1], {
      deadlineMs: 60_000,
      what: "the job",
    });
    const failed = assert.rejects(submitting, {
      message: `training job ${id} failed: the script exited with code 3`,
    });
    const run = await rig.runOf(id);
    run.output.line("error", "no data");
    run.end({ kind: "failed", code: Code.Internal, reason: "the script exited with code 3" });
    await failed;
    assert.equal(seen.includes("no data"), flag === "--follow");
  });
}

/** What the cloud answers, one answer after the other; the last one again and again. */
function answering(...answers: [logs: string[], next: string][]) {
  const tokens: (string | undefined)[] = [];
  const next = (
    { pageToken }: { pageToken?: string | undefined },
  ): Promise<GetTrainingJobLogsResponse> => {
    tokens.push(pageToken);
    const [logs, nextPageToken] = answers.shift() ?? [[], ""];
    return Promise.resolve(create(GetTrainingJobLogsResponseSchema, {
      logs: logs.map((message) => ({ level: "info", message, time: timestampFromMs(0) })),
      nextPageToken,
    }));
  };
  return { tokens, next };
}

async function messagesOf(lines: AsyncIterable<TrainingJobLogEntry>): Promise<string[]> {
  return (await Array.fromAsync(lines)).map(({ message }) => message);
}

Deno.test("JobLogReader.newLines() goes on behind what it gave, also when lines were left out", async () => {
  const { tokens, next } = answering(
    [["a", "a"], "p2"],
    [["b", "b"], ""],
    [["b", "b", "b", "c"], ""],
    [["3 lines are left out", "c", "d"], ""],
    [["9 lines are left out", "x"], ""],
  );
  const reader = new JobLogReader({ getTrainingJobLogs: next }, "1");
  assert.deepEqual(await messagesOf(reader.newLines()), ["a", "a", "b", "b"]);
  assert.deepEqual(await messagesOf(reader.newLines()), ["b", "c"]);
  assert.deepEqual(await messagesOf(reader.newLines()), ["d"]);
  assert.deepEqual(await messagesOf(reader.newLines()), ["9 lines are left out", "x"]);
  assert.deepEqual(tokens, ["", "p2", "p2", "p2", "p2"]);
});

Deno.test("followJob() waits for a cloud that is started again, but not forever", async () => {
  const clock = new FakeClock();
  let failures = 30;
  const training = {
    getTrainingJobLogs: unused,
    getTrainingJob: () => {
      if (failures-- > 0) throw new ConnectError("restarting", Code.Unavailable);
      const status = TrainingStatus.COMPLETED;
      return Promise.resolve(
        create(GetTrainingJobResponseSchema, { metadata: { id: "1", status } }),
      );
    },
  };
  const followed = followJob(training, "1", clock);
  await clock.advance(40_000);
  assert.equal((await followed).id, "1");
  failures = Infinity;
  const given = assert.rejects(followJob(training, "1", clock), /restarting/);
  await clock.advance(130_000);
  await given;
});

function unused(): never {
  throw new Error("nobody asks for it");
}
