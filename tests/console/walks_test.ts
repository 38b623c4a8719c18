/**
 * The most common tasks, from the first page on: with a mouse, with a finger on a phone, and by
 * keyboard alone.
 */
import { timestampFromMs, timestampNow } from "@bufbuild/protobuf/wkt";
import { encode } from "fast-png";
import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { MachineService } from "../../shared/gen/machine/cloud/v1/machine_pb.ts";
import { DataSyncService, DataType } from "../../shared/gen/viam/app/datasync/v1/data_sync_pb.ts";
import { RobotService } from "../../shared/gen/viam/app/v1/robot_pb.ts";
import { NOON, uploadImage } from "../../cloud/data/ingest/data_testing.ts";
import { FakeRunner } from "../../cloud/training/queue/queue_testing.ts";
import { waitFor } from "../../shared/base/time/wait_for.ts";
import { DataService } from "../../shared/gen/viam/app/data/v1/data_pb.ts";
import { DatasetService } from "../../shared/gen/viam/app/dataset/v1/dataset_pb.ts";
import { type ConsoleRig, consoleTest, DESKTOP, PHONE } from "./console_rig.ts";
import { fingerHands, type Hands, keyboardHands, mouseHands } from "./input_devices.ts";
import { startMachine, WAIT } from "./machine_rig.ts";

const WAYS = [
  { way: "with a mouse", browser: { viewport: DESKTOP }, hands: mouseHands },
  {
    way: "with a finger on a phone",
    browser: { viewport: PHONE, hasTouch: true, isMobile: true },
    hands: fingerHands,
  },
  { way: "by keyboard alone", browser: { viewport: DESKTOP }, hands: keyboardHands },
] as const;

/** What a task needs. */
interface Task {
  readonly rig: ConsoleRig;
  readonly hands: Hands;
}

const button = ({ page }: Hands, name: string) => page.getByRole("button", { name, exact: true });
const link = ({ page }: Hands, name: string) => page.getByRole("link", { name, exact: true });

/** Opens a page of the main navigation; on a phone some of them are below "More". */
async function toPage(hands: Hands, name: string): Promise<void> {
  const more = button(hands, "More");
  await link(hands, "Fleet").first().waitFor();
  const isInBar = await link(hands, name).first().isVisible();
  if (!isInBar && await more.isVisible()) await hands.press(more);
  await hands.press(link(hands, name).filter({ visible: true }));
}

/** Opens the fake machine's part of its page, from anywhere. */
async function toMachine(hands: Hands, tab: string): Promise<void> {
  await hands.press(link(hands, "Fleet").first());
  await hands.press(link(hands, "rover"));
  await hands.press(link(hands, tab));
}

async function firstMachine({ rig, hands }: Task): Promise<void> {
  const { page } = hands;
  // A list that is still read moves what is pressed.
  await link(hands, "rover").waitFor();
  await hands.press(link(hands, "New machine"));
  await hands.fill(page.getByLabel("Name", { exact: true }), "digger");
  await page.keyboard.press("Enter");
  const line = await page.getByText(/^curl -fsSL/).innerText();
  const value = (name: string) => new RegExp(`${name}=(\\S+)`).exec(line)?.[1] ?? "";
  const answer = await fetch(
    `${rig.cloud.url}/api/json1/config?id=${value("MACHINE_PART_ID")}`,
    { headers: { key_id: value("MACHINE_API_KEY_ID"), key: value("MACHINE_API_KEY") } },
  );
  const { cloud } = await answer.json() as { cloud: { id: string; secret: string } };
  const machine = await rig.as("robot-secret", cloud.id, cloud.secret, MachineService);
  await machine.watch({ partId: cloud.id })[Symbol.asyncIterator]().next();
  await page.getByText("digger is online.").waitFor();
}

async function changeValue({ rig, hands }: Task): Promise<void> {
  const { page } = hands;
  await toMachine(hands, "Configure");
  await hands.press(page.locator("summary").filter({ hasText: "weather" }));
  await hands.fill(page.getByLabel("url"), "http://127.0.0.1:9/changed");
  await hands.press(button(hands, "Review and save"));
  await hands.press(button(hands, "Save"));
  await page.getByText("Saved. No changes.").waitFor();
  const { configJson } = await rig.app.getRobotPart({ id: rig.made.part_id });
  assert.match(configJson, /changed/);
}

async function restore({ rig, hands }: Task): Promise<void> {
  const { page } = hands;
  await hands.press(button(hands, "History"));
  await hands.press(page.getByRole("button", { name: /^2\b.*Compare/ }));
  await hands.press(button(hands, "Restore"));
  await hands.press(page.getByRole("dialog").getByRole("button", { name: "Restore" }));
  await page.getByText("Revision 2 is restored.").waitFor();
  const { configJson } = await rig.app.getRobotPart({ id: rig.made.part_id });
  assert.match(configJson, /first/);
}

async function findError({ hands }: Task): Promise<void> {
  const { page } = hands;
  await toMachine(hands, "Logs");
  await page.getByText("cannot move").waitFor();
  await hands.choose(page.getByLabel("Level"), "Errors");
  await page.getByText("all is well 1", { exact: true }).waitFor({ state: "detached" });
  assert.equal(await page.locator("ol > li").count(), 1);
}

async function plotWeek({ hands }: Task): Promise<void> {
  const { page } = hands;
  await toPage(hands, "Data");
  await hands.choose(page.getByLabel("Time range"), "Last week");
  await page.getByRole("img", { name: /^temperature:/ }).waitFor();
  await page.waitForURL(/range=week/);
}

async function label({ hands }: Task): Promise<void> {
  const { page } = hands;
  const dialog = page.getByRole("dialog");
  await hands.press(link(hands, "Pictures"));
  await hands.press(page.locator("ul.grid button").first());
  await hands.press(button(hands, "Draw a box"));
  await hands.draw(dialog.getByRole("group", { name: /% wide/ }));
  await hands.fill(dialog.getByLabel("Label"), "screw");
  await page.keyboard.press("Enter");
  await dialog.getByText("screw", { exact: true }).first().waitFor();
  await page.keyboard.press("Escape");
}

async function makeTrigger({ hands }: Task): Promise<void> {
  const { page } = hands;
  const dialog = page.getByRole("dialog");
  await toPage(hands, "Triggers");
  await hands.press(button(hands, "New trigger").first());
  await hands.fill(dialog.getByLabel("Name", { exact: true }), "gone");
  await hands.choose(dialog.getByLabel("Event"), "Machine goes offline");
  await hands.fill(
    dialog.getByLabel("Receiver 1", { exact: true }),
    "https://receiver.example/hook",
  );
  await hands.press(dialog.getByRole("button", { name: "Review" }));
  await hands.press(dialog.getByRole("button", { name: "Save" }));
  await page.getByRole("region", { name: "gone" }).waitFor();
}

async function invite({ hands }: Task): Promise<void> {
  const { page } = hands;
  await toPage(hands, "Organisation");
  await hands.press(button(hands, "Invite"));
  await hands.fill(page.getByLabel("E-mail address"), "bob@example.com");
  await page.keyboard.press("Enter");
  await page.getByRole("list", { name: "Pending invitations" })
    .getByText("bob@example.com", { exact: true }).waitFor();
}

/** Two revisions of a configuration. */
async function prepare({ app, made }: ConsoleRig): Promise<void> {
  for (const url of ["http://first", "http://second"]) {
    const config = {
      components: [{
        ...{ name: "weather", api: "rdk:component:sensor", model: "rdk:builtin:http" },
        attributes: { url },
      }],
    };
    await app.updateRobotPart({ id: made.part_id, robotConfigJson: JSON.stringify(config) });
  }
}

/** Lines of a log, readings and an image. */
async function send(rig: ConsoleRig): Promise<void> {
  const { part_id: id } = rig.made;
  const at = (level: string, message: string) => ({
    ...{ level, message, loggerName: "rdk", host: "h", time: timestampNow() },
  });
  await rig.part(RobotService).log({
    id,
    logs: [at("info", "all is well 1"), at("error", "cannot move"), at("info", "all is well 2")],
  });
  const sync = rig.part(DataSyncService);
  const time = timestampFromMs(Date.now() - 60_000);
  const metadata = { timeRequested: time, timeReceived: time };
  await sync.dataCaptureUpload({
    metadata: {
      ...{ partId: id, componentType: "rdk:component:sensor", componentName: "climate" },
      ...{ methodName: "Readings", type: DataType.TABULAR_SENSOR },
    },
    sensorContents: [21, 22, 23].map((temperature, index) => {
      const each = timestampFromMs(Date.now() - (index + 1) * 86_400_000);
      return {
        metadata: { timeRequested: each, timeReceived: each },
        data: { case: "struct", value: { readings: { temperature } } },
      };
    }),
  });
  const data = new Uint8Array(64 * 48 * 3).map((_, index) => index % 251);
  await sync.dataCaptureUpload({
    metadata: {
      ...{ partId: id, componentType: "rdk:component:camera", componentName: "eye" },
      ...{ methodName: "ReadImage", type: DataType.BINARY_SENSOR, fileExtension: ".png" },
    },
    sensorContents: [{
      metadata,
      data: { case: "binary", value: encode({ width: 64, height: 48, channels: 3, data }) },
    }],
  });
}

/** Images with tags in a dataset, as labelling leaves them. */
async function tagged(rig: ConsoleRig): Promise<void> {
  const { id: datasetId } = await rig.client(DatasetService)
    .createDataset({ name: "screws", organizationId: rig.made.org_id });
  for (let at = 0; at < 20; at++) {
    const picture = new Uint8Array([0xff, 0xd8, at]);
    const sync = rig.part(DataSyncService);
    const id = await uploadImage(sync, rig.made.part_id, NOON + at, picture, {
      tags: [at % 2 === 0 ? "screw" : "nut"],
    });
    await rig.client(DataService).addBinaryDataToDatasetByIDs({ datasetId, binaryDataIds: [id] });
  }
}

/** Trains at once: what runs trainings has tests of its own. */
const runner = new FakeRunner(async ({ outputFolder }, output) => {
  output.line("info", "epoch 1/1 loss 0.5 validation_score 0.875");
  await Deno.writeTextFile(`${outputFolder}/model.tflite`, "model");
  return { kind: "succeeded" };
});

async function train({ rig, hands }: Task): Promise<void> {
  const { page } = hands;
  const dialog = page.getByRole("dialog");
  const { part_id: id } = rig.made;
  await tagged(rig);
  await toPage(hands, "Training");
  await hands.press(button(hands, "New training").first());
  await dialog.getByLabel("screw", { exact: true }).waitFor();
  await hands.fill(dialog.getByLabel("Name of the model"), "finder");
  await hands.press(dialog.getByRole("button", { name: "Start", exact: true }));
  await page.getByRole("heading", { name: "finder" }).waitFor();
  await page.getByRole("main").getByRole("status").first().getByText("completed").waitFor();
  await hands.press(button(hands, "Deploy to machines"));
  await hands.check(dialog.getByLabel("rover"));
  await hands.press(dialog.getByRole("button", { name: "Review", exact: true }));
  await hands.press(dialog.getByRole("button", { name: "Save", exact: true }));
  await page.getByText("Saved on 1 machine.").waitFor();
  const { configJson } = await rig.app.getRobotPart({ id });
  assert.match(configJson, /finder/);
}

/** With a real machine-server; the base moves while something pushes, and stops after it. */
async function driveBase({ rig, hands }: Task): Promise<void> {
  const { page } = hands;
  const base = { name: "wheels", api: "rdk:component:base", model: "rdk:builtin:fake" };
  await using _machine = await startMachine(rig, { components: [base] });
  await toMachine(hands, "Control");
  await page.getByText("Connected directly").waitFor();
  const stick = page.getByRole("application");
  const watching = await rig.signedIn(`/machines/${rig.made.machine_id}/control?q=wheels`);
  await watching.page.getByText("All methods").click();
  await watching.page.getByLabel("Method").selectOption("IsMoving");
  const until = (moves: boolean) =>
    waitFor(async () => {
      await watching.page.getByRole("button", { name: "Call" }).click();
      const answer = await watching.page.locator("pre").innerText();
      return (JSON.parse(answer) as { isMoving: boolean }).isMoving === moves;
    }, WAIT);
  const letGo = await hands.push(stick, "ArrowUp");
  await until(true);
  await letGo();
  await until(false);
  await hands.press(page.getByRole("button", { name: "Stop all" }));
  await watching.context.close();
}

async function rollOut({ hands }: Task): Promise<void> {
  const { page } = hands;
  const dialog = page.getByRole("dialog");
  await toPage(hands, "Releases");
  await hands.press(button(hands, "Add release"));
  const program = Buffer.alloc(1_000);
  program.set([0x7f, 0x45, 0x4c, 0x46]);
  program[18] = 62;
  // The window in which files are chosen is the system's.
  await dialog.getByLabel("File of the program").setInputFiles({
    name: "machine-server-1.2.3-linux-x64",
    mimeType: "application/octet-stream",
    buffer: program,
  });
  await hands.choose(dialog.getByLabel("Who gets it"), "Some of them first");
  await hands.fill(dialog.getByLabel("Percent of the machines"), "25");
  await hands.press(dialog.getByRole("button", { name: "Add release", exact: true }));
  const card = page.getByRole("region", { name: "machine-server 1.2.3" });
  await hands.press(card.getByRole("button", { name: "To everybody" }));
  await hands.press(dialog.getByRole("button", { name: "To everybody", exact: true }));
  await card.waitFor({ state: "detached" });
}

const TASKS = {
  firstMachine,
  changeValue,
  restore,
  findError,
  plotWeek,
  label,
  train,
  makeTrigger,
  rollOut,
  invite,
  driveBase,
};

for (const { way, browser, hands: handsOn } of WAYS) {
  consoleTest(import.meta.url, `common tasks are done ${way}`, async (rig) => {
    await prepare(rig);
    await send(rig);
    const opened = await rig.signedIn("/", browser);
    const hands = handsOn(opened.page);
    for (const [name, task] of Object.entries(TASKS)) {
      const before = hands.count;
      try {
        await task({ rig, hands });
      } catch (error) {
        if (error instanceof Error) error.message = `${name}: ${error.message}`;
        throw error;
      }
      const file = Deno.env.get("MACHINE_TEST_FIGURES");
      const line = `${JSON.stringify({ way, name, presses: hands.count - before })}\n`;
      if (file) await Deno.writeTextFile(file, line, { append: true });
    }
  }, { training: { runner } });
}
