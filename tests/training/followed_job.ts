import assert from "node:assert/strict";
import type { ConsolePage } from "../console/console_rig.ts";
import { MODEL } from "./managed_job.ts";
import { SHAPES } from "./shapes.ts";

/** What the script says before it trains: the beginning of a line. */
export const COUNTED = "73 images; labels: ";
/** As long as a job may take. */
const DEADLINE_MS = 1_800_000;

/** Starts a job of one label an image by the form, and follows it to the end. @returns its id */
export async function followToResult(opened: ConsolePage): Promise<string> {
  const { page } = opened;
  const dialog = page.getByRole("dialog");
  await page.getByRole("button", { name: "New training" }).click();
  await dialog.getByLabel("Dataset").selectOption("shapes");
  await dialog.getByLabel("What it learns").selectOption("One label a picture");
  for (const label of SHAPES) await dialog.getByLabel(label).waitFor();
  await dialog.getByLabel("Name of the model").fill(MODEL);
  await dialog.getByLabel("Version").fill("1");
  await dialog.getByRole("button", { name: "Start", exact: true }).click();
  await page.getByRole("heading", { name: MODEL }).waitFor();

  // One look at the page shows both: the line is there before the training ends.
  const status = page.getByRole("status");
  const isTraining = status.getByText("training", { exact: true });
  const line = page.getByRole("log").getByText(COUNTED);
  await page.getByRole("main").filter({ has: isTraining }).filter({ has: line })
    .waitFor({ timeout: DEADLINE_MS });
  for (const name of [/^Loss over/, /^Accuracy and other scores over/]) {
    await page.getByRole("img", { name }).waitFor({ timeout: DEADLINE_MS });
  }
  await opened.picture("training-live");

  await status.getByText("completed").waitFor({ timeout: DEADLINE_MS });
  await page.getByRole("img", { name: /^Loss over 14 values; last, Epoch 14: loss [\d.]+/ })
    .waitFor();
  const result = page.getByRole("region", { name: "Result" });
  await result.getByText("validation_accuracy").waitFor();
  await opened.picture("training-result");
  const [id] = /[^/]+$/.exec(new URL(page.url()).pathname) ?? [];
  assert.ok(id);
  return id;
}

/** Deploys the model to the machine, by what the dialog shows as difference. */
export async function deploy(opened: ConsolePage): Promise<void> {
  const { page } = opened;
  const dialog = page.getByRole("dialog");
  await page.getByRole("button", { name: "Deploy to machines" }).click();
  await dialog.getByLabel("rover").check();
  await dialog.getByRole("button", { name: "Review", exact: true }).click();
  await dialog.getByText('"type": "ml_model"').waitFor();
  await opened.picture("training-deployed");
  await dialog.getByRole("button", { name: "Save", exact: true }).click();
  await page.getByText("Saved on 1 machine.").waitFor();
}
