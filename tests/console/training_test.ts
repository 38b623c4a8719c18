/** Training in a browser: started by the form, followed, its model deployed; cancelled; refused. */
import assert from "node:assert/strict";
import type { JsonObject } from "@bufbuild/protobuf";
import { join } from "node:path";
import { NOON, uploadImage } from "../../cloud/data/ingest/data_testing.ts";
import { runCloudCommand } from "../../cloud/local/commands/commands_testing.ts";
import { SCRIPT } from "../../cloud/local/commands/training_rig_testing.ts";
import { FakeRunner } from "../../cloud/training/queue/queue_testing.ts";
import type { TaskEnd, TaskOutput, TrainingTask } from "../../cloud/training/runs/runner.ts";
import { waitFor } from "../../shared/base/time/wait_for.ts";
import { DatasetService } from "../../shared/gen/viam/app/dataset/v1/dataset_pb.ts";
import { DataService } from "../../shared/gen/viam/app/data/v1/data_pb.ts";
import { DataSyncService } from "../../shared/gen/viam/app/datasync/v1/data_sync_pb.ts";
import { type ConsoleRig, consoleTest } from "./console_rig.ts";
import { HOSTILE } from "./hostile_texts.ts";

const hostile = HOSTILE[0] ?? "";

/** Runs go as the test says: lines, and an end. */
interface ToldRun {
  readonly task: TrainingTask;
  readonly output: TaskOutput;
  readonly end: (end: TaskEnd) => void;
}
const runs: ToldRun[] = [];
const runner = new FakeRunner((task, output, signal) => {
  const { promise, resolve } = Promise.withResolvers<TaskEnd>();
  signal.addEventListener("abort", () => resolve({ kind: "aborted" }), { once: true });
  runs.push({ task, output, end: resolve });
  return promise;
});
const runOf = (at: number) => waitFor(() => runs[at], { deadlineMs: 60_000, what: "the run" });

/** Twenty pictures: half of them tagged with a usual text, half with a hostile one. */
async function dataset(rig: ConsoleRig): Promise<void> {
  const { made } = rig;
  const { id: datasetId } = await rig.client(DatasetService)
    .createDataset({ name: hostile.slice(0, 60), organizationId: made.org_id });
  for (let at = 0; at < 20; at++) {
    const picture = new Uint8Array([0xff, 0xd8, at]);
    const id = await uploadImage(rig.part(DataSyncService), made.part_id, NOON + at, picture, {
      tags: [at % 2 === 0 ? "cat" : hostile],
    });
    await rig.client(DataService)
      .addBinaryDataToDatasetByIDs({ datasetId, binaryDataIds: [id] });
  }
}

consoleTest(
  import.meta.url,
  "a model is trained from a dataset, followed and deployed; another training is stopped",
  async (rig) => {
    const { app, made } = rig;
    const opened = await rig.signedIn("/training");
    const { page } = opened;
    const dialog = page.getByRole("dialog");
    const press = (name: string) => dialog.getByRole("button", { name, exact: true }).click();
    await page.getByText("has no dataset with pictures yet").waitFor();
    await opened.inspect("training-empty");
    await page.getByRole("link", { name: "Make a dataset" }).click();
    await page.getByRole("link", { name: "Go to the pictures" }).click();
    await page.waitForURL(/tab=pictures/);
    await opened.go("/training");
    await dataset(rig);
    const script = join(rig.dataDir, "script");
    await Deno.mkdir(join(script, "model"), { recursive: true });
    for (const [path, text] of Object.entries(SCRIPT)) {
      await Deno.writeTextFile(join(script, path), text);
    }
    await runCloudCommand(
      ["training-script", "upload", "--data", rig.dataDir, "--name", "own", script],
      {},
    );
    await page.getByRole("button", { name: "New training" }).click();
    await dialog.getByLabel("cat").waitFor();
    await dialog.getByLabel(hostile).waitFor();
    await dialog.getByLabel("Name of the model").fill("shapes");
    await opened.inspect("training-new");
    await press("Start");

    const run = await runOf(0);
    await page.getByRole("heading", { name: "shapes" }).waitFor();
    const status = page.getByRole("main").getByRole("status").first();
    await status.getByText("training", { exact: true }).waitFor();
    for (const text of HOSTILE) run.output.line("warn", text);
    run.output.line("info", "epoch 1/3 loss 1.5 validation_loss 1.6 validation_score 0.25");
    const log = page.getByRole("log");
    await log.getByText(hostile, { exact: true }).waitFor();
    await page.getByText("Epoch 1: loss 1.5, validation_loss 1.6").waitFor();
    run.output.line("info", "epoch 2/3 loss 0.5 validation_loss 0.75 validation_score 0.875");
    await page.getByRole("img", { name: "Loss over 2 values; last, Epoch 2: loss 0.5" }).waitFor();
    await page.getByText("Epoch 2: validation_score 0.875").waitFor();
    await opened.inspect("training-running");

    await Deno.writeTextFile(join(run.task.outputFolder, "model.tflite"), "model");
    const metrics = { validation_accuracy: 0.875, [hostile]: 1 };
    await Deno.writeTextFile(
      join(run.task.outputFolder, "metrics.json"),
      JSON.stringify(metrics),
    );
    run.end({ kind: "succeeded" });
    await status.getByText("completed").waitFor();
    const result = page.getByRole("region", { name: "Result" });
    await result.getByText("validation_accuracy").waitFor();
    await result.getByText(hostile).waitFor();
    await opened.inspect("training-done");

    // The machine gets an entry; what was saved in between is not overwritten.
    const id = made.part_id;
    const configOf = async () => (await app.getRobotPart({ id })).part?.robotConfig ?? {};
    await page.getByRole("button", { name: "Deploy to machines" }).click();
    await dialog.getByLabel("rover").check();
    await press("Review");
    await dialog.getByText('"type": "ml_model"').waitFor();
    await opened.inspect("training-deploy");
    await app.updateRobotPart({ id, robotConfig: { ...await configOf(), components: [] } });
    await press("Save");
    await dialog.getByRole("alert").waitFor();
    assert.equal((await configOf())["packages"], undefined);
    assert.match(opened.complaints.splice(0).join("\n"), /^[^\n]*400[^\n]*UpdateRobotPart$/);
    await press("Save");
    await page.getByText("Saved on 1 machine.").waitFor();
    const config = await configOf();
    const [entry] = config["packages"] as JsonObject[];
    assert.deepEqual(config["components"], []);
    assert.equal(entry?.["package"], `${made.org_id}/shapes`);
    assert.deepEqual([entry?.["name"], entry?.["type"]], ["shapes", "ml_model"]);

    // One with a script, which is stopped and forgotten.
    await page.getByRole("link", { name: "All trainings" }).click();
    await page.getByRole("list", { name: "Training" }).getByText("completed").waitFor();
    await opened.inspect("training-list");
    await page.getByRole("button", { name: "New training" }).click();
    await dialog.getByLabel("What it learns").selectOption("Training script of the registry");
    await dialog.getByLabel("Arguments").fill("epochs");
    await dialog.getByText("“epochs” is not KEY=VALUE.").waitFor();
    await dialog.getByLabel("Arguments").fill("epochs=3");
    await dialog.getByLabel("Name of the model").fill("colours");
    await opened.inspect("training-script");
    await press("Start");
    assert.deepEqual((await runOf(1)).task.arguments, { epochs: "3" });
    await page.getByRole("button", { name: "Stop the training" }).click();
    await press("Stop the training");
    await status.getByText("cancelled").waitFor();
    await page.getByRole("button", { name: "Delete the training" }).click();
    await press("Delete the training");
    await page.getByRole("link", { name: "shapes" }).waitFor();
    assert.equal(await page.getByRole("link", { name: "colours" }).count(), 0);
    assert.equal(await page.evaluate("window.hacked ?? 'no'"), "no");

    const { id: keyId, key } = await rig.viewer();
    const viewer = await rig.signedInBy(keyId, key, "/training");
    await viewer.page.getByText("Trainings are for owners").waitFor();
    viewer.complaints.splice(0);
  },
  { training: { runner } },
);
