/** Texts of machines and colleagues that a page must show as text, wherever they come out. */
import assert from "node:assert/strict";
import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import { encode } from "fast-png";
import { DataService } from "../../shared/gen/viam/app/data/v1/data_pb.ts";
import { DatasetService } from "../../shared/gen/viam/app/dataset/v1/dataset_pb.ts";
import { DataSyncService, DataType } from "../../shared/gen/viam/app/datasync/v1/data_sync_pb.ts";
import { ignoreWithout } from "../../shared/test_tools/skips.ts";
import { type ConsolePage, ConsoleRig, consoleTest, PHONE } from "./console_rig.ts";
import { cardsOf } from "./resource_cards.ts";
import { HOSTILE } from "./hostile_texts.ts";
import { plainModule, startMachine } from "./machine_rig.ts";

/** As long as the cloud takes labels. */
const NAMES = HOSTILE.map((text) => text.replaceAll(/\p{Cc}/gu, "").slice(0, 1_000));

/** Nothing ran, and the page is as wide as the window, also on a phone. */
async function assertHolds(opened: ConsolePage): Promise<void> {
  const { page } = opened;
  await opened.assertFits();
  assert.deepEqual(await opened.axe(), []);
  const size = page.viewportSize();
  await page.setViewportSize(PHONE);
  await opened.assertFits();
  if (size) await page.setViewportSize(size);
  assert.equal(await page.evaluate("window.hacked"), undefined);
}

/** A picture with a tag and a box of each text. */
async function labelledPicture(rig: ConsoleRig): Promise<string> {
  const time = timestampFromMs(Date.now() - 60_000);
  const data = new Uint8Array(64 * 48 * 3).fill(90);
  const { binaryDataId } = await rig.part(DataSyncService).dataCaptureUpload({
    metadata: {
      ...{ partId: rig.made.part_id, componentType: "rdk:component:camera" },
      ...{ componentName: "eye", methodName: "ReadImage", fileExtension: ".png" },
      ...{ type: DataType.BINARY_SENSOR, tags: NAMES },
    },
    sensorContents: [{
      metadata: { timeRequested: time, timeReceived: time },
      data: { case: "binary", value: encode({ width: 64, height: 48, channels: 3, data }) },
    }],
  });
  for (const label of NAMES) {
    await rig.client(DataService).addBoundingBoxToImageByID({
      ...{ binaryDataId, label },
      ...{ xMinNormalized: 0.1, yMinNormalized: 0.1, xMaxNormalized: 0.6, yMaxNormalized: 0.6 },
    });
  }
  return binaryDataId;
}

consoleTest(
  import.meta.url,
  "hostile labels of pictures and classes of a training are shown as text",
  async (rig) => {
    const picture = await labelledPicture(rig);
    const { id: datasetId } = await rig.client(DatasetService)
      .createDataset({ name: "hostile", organizationId: rig.made.org_id });
    await rig.client(DataService)
      .addBinaryDataToDatasetByIDs({ datasetId, binaryDataIds: [picture] });
    const opened = await rig.signedIn("/data?tab=pictures");
    const { page } = opened;
    const dialog = page.getByRole("dialog");
    await page.locator("ul.grid button").first().click();
    const boxes = dialog.getByRole("region", { name: "Boxes" });
    for (const text of NAMES) await boxes.getByText(text.slice(0, 20)).first().waitFor();
    await assertHolds(opened);

    await opened.go("/training");
    await page.getByRole("button", { name: "New training" }).click();
    for (const text of NAMES) await dialog.getByText(text.slice(0, 20)).first().waitFor();
    await assertHolds(opened);
  },
);

consoleTest(
  import.meta.url,
  "hostile names, fields and values of triggers are shown as text",
  async (rig) => {
    const triggers = HOSTILE.map((text, at) => ({
      name: `${at} ${text}`.slice(0, 200),
      event: {
        type: "conditional_data_ingested",
        conditional: {
          data_capture_method: "sensor:host:Readings",
          conditions: { evals: [{ operator: "eq", value: { [text]: text } }] },
        },
      },
      notifications: [{
        type: "email",
        value: "all_machine_owners",
        seconds_between_notifications: 60,
      }],
    }));
    await rig.app.updateRobotPart({
      id: rig.made.part_id,
      robotConfigJson: JSON.stringify({ triggers }),
    });
    const opened = await rig.signedIn("/triggers");
    for (const { name } of triggers) {
      await opened.page.getByText(name.slice(0, 12)).first().waitFor();
    }
    await assertHolds(opened);
  },
);

Deno.test({
  name: "hostile names and values of a sensor's readings are shown as text on Control",
  ignore: ignoreWithout(import.meta.url, "chromium"),
  async fn() {
    await using rig = await ConsoleRig.open();
    const readings = Object.fromEntries(HOSTILE.map((text, at) => [`${at} ${text}`, text]));
    await using _machine = await startMachine(rig, {
      components: [{
        ...{ name: "sensor-1", api: "rdk:component:sensor", model: "rdk:builtin:fake" },
        attributes: { readings },
      }],
    });
    const opened = await rig.signedIn(`/machines/${rig.made.machine_id}/control`);
    const card = cardsOf(opened.page)("sensor");
    for (const [at, text] of HOSTILE.entries()) {
      await card.getByText(`${at} ${text.slice(0, 8)}`).first().waitFor();
    }
    await assertHolds(opened);
  },
});

Deno.test({
  name: "hostile names of what a vision service finds are shown as text on Control",
  ignore: ignoreWithout(import.meta.url, "chromium"),
  async fn() {
    await using rig = await ConsoleRig.open();
    await using _machine = await startMachine(rig, {
      modules: [await plainModule(rig)],
      components: [{ name: "camera-1", api: "rdk:component:camera", model: "rdk:builtin:fake" }],
      services: [{
        ...{ name: "eyes", api: "rdk:service:vision", model: "acme:plain:eyes" },
        attributes: { classes: NAMES.map((text, at) => `${at} ${text}`) },
      }],
    });
    const opened = await rig.signedIn(`/machines/${rig.made.machine_id}/control`);
    const card = opened.page.getByRole("region", { name: "eyes, rdk:service:vision", exact: true });
    for (const [at, text] of NAMES.entries()) {
      await card.getByText(`${at} ${text.slice(0, 8)}`).first().waitFor();
    }
    await assertHolds(opened);
  },
});
