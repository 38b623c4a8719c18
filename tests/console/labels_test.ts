/** Labels, boxes and datasets of the page Data, in a browser. */
import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import { encode } from "fast-png";
import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { Parser } from "tar/parse";
import type { Locator } from "playwright-core";
import { DataService } from "../../shared/gen/viam/app/data/v1/data_pb.ts";
import { DataSyncService, DataType } from "../../shared/gen/viam/app/datasync/v1/data_sync_pb.ts";
import { type ConsoleRig, consoleTest } from "./console_rig.ts";

async function capture(rig: ConsoleRig, count: number): Promise<void> {
  const sync = rig.part(DataSyncService);
  const now = Date.now();
  for (let at = 0; at < count; at++) {
    const data = new Uint8Array(320 * 240 * 3).map((_, i) => (i * (at + 3)) % 251);
    const time = timestampFromMs(now - (at + 1) * 60_000);
    await sync.dataCaptureUpload({
      metadata: {
        ...{ partId: rig.made.part_id, componentType: "rdk:component:camera" },
        ...{ componentName: "eye", methodName: "ReadImage", fileExtension: ".png" },
        type: DataType.BINARY_SENSOR,
      },
      sensorContents: [{
        metadata: { timeRequested: time, timeReceived: time },
        data: { case: "binary", value: encode({ width: 320, height: 240, channels: 3, data }) },
      }],
    });
  }
}

/** The names and texts of the files in a tar archive. */
async function filesIn(archive: Uint8Array): Promise<Map<string, string>> {
  const files = new Map<string, string>();
  const parser = new Parser({ strict: true });
  const read: Promise<unknown>[] = [];
  parser.on("entry", (entry) => {
    read.push(
      entry.concat().then((bytes: unknown) => files.set(String(entry.path), String(bytes))),
    );
  });
  const ended = new Promise((resolve) => parser.on("end", resolve));
  parser.end(Buffer.from(archive));
  await ended;
  await Promise.all(read);
  return files;
}

consoleTest(
  import.meta.url,
  "pictures get tags and boxes by pointer, touch and keyboard, and go into a dataset that is exported",
  async (rig) => {
    await capture(rig, 4);
    const api = rig.client(DataService);
    const opened = await rig.signedIn("/data?tab=datasets", { hasTouch: true });
    const { page } = opened;
    const dialog = page.getByRole("dialog");
    const boxes = dialog.getByRole("region", { name: "Boxes" });
    const press = (name: string) => dialog.getByRole("button", { name, exact: true }).click();
    await page.getByText("No datasets yet").waitFor();
    await page.getByRole("button", { name: "New dataset" }).click();
    await dialog.getByLabel("Name").fill("screws");
    await press("Create");
    await page.getByRole("link", { name: "screws" }).waitFor();

    await opened.go("/data?tab=pictures");
    await page.locator("ul.grid button").first().click();
    await dialog.locator("img").waitFor();
    const focused = (what: Locator) => what.and(page.locator(":focus")).waitFor();
    const draw = async (label: string, make: () => Promise<void>) => {
      await press("Draw a box");
      await make();
      await focused(boxes.getByLabel("Label"));
      await page.keyboard.type(label);
      await page.keyboard.press("Enter");
      await boxes.getByText(label, { exact: true }).waitFor();
      await focused(boxes.getByRole("button", { name: "Draw a box" }));
    };
    const picture = async () => {
      const at = await dialog.locator("img").boundingBox();
      assert.ok(at);
      return at;
    };
    await draw("screw", async () => {
      const { x, y, width, height } = await picture();
      await page.mouse.move(x + width * 0.8, y + height * 0.6);
      await page.mouse.down();
      await page.mouse.move(x + width * 0.2, y + height * 0.1, { steps: 4 });
      await page.mouse.up();
      await opened.inspect("data-box");
    });
    await draw("nut", async () => {
      const { x, y, width, height } = await picture();
      const touch = await opened.context.newCDPSession(page);
      const send = (type: string, points: [number, number][]) =>
        touch.send("Input.dispatchTouchEvent", {
          type: type as "touchStart",
          touchPoints: points.map(([left, top]) => ({ x: x + width * left, y: y + height * top })),
        });
      await send("touchStart", [[0.5, 0.5]]);
      await send("touchMove", [[0.7, 0.6]]);
      await send("touchMove", [[0.9, 0.75]]);
      await send("touchEnd", []);
    });
    await draw("bolt", async () => {
      const box = dialog.getByRole("group", { name: /% wide/ });
      await box.focus();
      for (let at = 0; at < 5; at++) await page.keyboard.press("ArrowLeft");
      for (let at = 0; at < 10; at++) await page.keyboard.press("Shift+ArrowDown");
      await page.keyboard.press("Enter");
      assert.equal(await boxes.getByLabel("Label").inputValue(), "nut", "the label before");
    });
    // Escape gives the box up, not the dialog.
    await press("Draw a box");
    await page.keyboard.press("Escape");
    await focused(boxes.getByRole("button", { name: "Draw a box" }));
    const stored = async () => {
      const { data } = await api.binaryDataByFilter({ dataRequest: { limit: 10n } });
      return data.flatMap(({ metadata }) => metadata ? [metadata] : []);
    };
    const kept = (await stored()).flatMap(({ annotations }) => annotations?.bboxes ?? []);
    const near = (a: number, b: number) => Math.abs(a - b) < 0.02;
    const wanted = {
      screw: [0.2, 0.1, 0.8, 0.6],
      nut: [0.5, 0.5, 0.9, 0.75],
      bolt: [0.2, 0.25, 0.7, 0.85],
    };
    for (const [label, edges] of Object.entries(wanted)) {
      const box = kept.find((each) => each.label === label);
      assert.ok(box, label);
      const { xMinNormalized, yMinNormalized, xMaxNormalized, yMaxNormalized } = box;
      const found = [xMinNormalized, yMinNormalized, xMaxNormalized, yMaxNormalized];
      assert.ok(found.every((each, at) => near(each, edges[at] ?? 9)), `${label}: ${found}`);
    }
    await boxes.getByRole("button", { name: "Change the box nut" }).click();
    await boxes.getByLabel("Label").fill("washer");
    await press("Save box");
    await boxes.getByText("washer", { exact: true }).waitFor();
    await boxes.getByRole("button", { name: "Remove the box bolt" }).click();
    await boxes.getByText("bolt", { exact: true }).waitFor({ state: "detached" });
    await press("Undo");
    await boxes.getByText("bolt", { exact: true }).waitFor();
    await dialog.getByText("bolt is removed.").waitFor({ state: "detached" });
    await boxes.getByRole("button", { name: "Remove the box bolt" }).click();
    await boxes.getByText("bolt", { exact: true }).waitFor({ state: "detached" });
    await dialog.getByLabel("New tag").fill("good");
    await page.keyboard.press("Enter");
    await dialog.getByRole("button", { name: "Remove the tag good" }).waitFor();
    await dialog.getByLabel("Add to a dataset").selectOption("screws");
    await dialog.getByRole("button", { name: "Take it out of screws" }).waitFor();
    await opened.inspect("data-labelled");
    await dialog.getByRole("button", { name: "Remove the tag good" }).click();
    await dialog.getByRole("button", { name: "Remove the tag good" }).waitFor({
      state: "detached",
    });
    await page.keyboard.press("Escape");
    await dialog.waitFor({ state: "hidden" });

    await page.getByRole("button", { name: "Select", exact: true }).click();
    await page.getByRole("button", { name: "Select all shown" }).click();
    await page.getByText("4 selected").waitFor();
    await page.getByLabel("New tag").fill("lot 7");
    await page.keyboard.press("Enter");
    await page.getByText("4 pictures changed").waitFor();
    await page.locator("ul.grid button").nth(1).click();
    await page.locator("ul.grid button").nth(2).click();
    const selection = page.getByRole("region", { name: "Selected pictures" });
    await selection.getByLabel("Dataset").selectOption("screws");
    await opened.inspect("data-selection");
    await selection.getByRole("button", { name: "Add to dataset" }).click();
    await page.getByText("2 pictures changed").waitFor();
    await opened.go("/data?tab=datasets");
    await page.getByRole("link", { name: "screws" }).click();
    await page.locator("ul.grid > li").nth(2).waitFor();
    assert.equal(await page.locator("ul.grid > li").count(), 3);
    await page.getByRole("button", { name: "Select", exact: true }).click();
    await page.locator("ul.grid button").nth(2).click();
    await selection.getByRole("button", { name: "Take out" }).click();
    await page.locator("ul.grid > li").nth(2).waitFor({ state: "detached" });

    await opened.go("/data?tab=datasets");
    const [download] = await Promise.all([
      page.waitForEvent("download"),
      page.getByRole("button", { name: "Export: screws" }).click(),
    ]);
    assert.equal(download.suggestedFilename(), "screws.tar");
    const files = await filesIn(await Deno.readFile(await download.path()));
    const lines = (files.get("dataset.jsonl") ?? "").trim().split("\n").map((line) =>
      JSON.parse(line)
    );
    assert.equal(lines.length, 2);
    for (const { image_path } of lines) assert.match(files.get(image_path) ?? "", /PNG/);
    const labels = lines.flatMap((line) => line.bounding_box_annotations);
    assert.deepEqual(labels.map((each) => each.annotation_label).sort(), ["screw", "washer"]);
    await opened.inspect("data-datasets");
    await page.getByRole("button", { name: "Rename: screws" }).click();
    await dialog.getByLabel("Name").fill("fasteners");
    await press("Rename");
    await page.getByRole("button", { name: "Delete: fasteners" }).click();
    await dialog.getByLabel("Type “fasteners”").fill("fasteners");
    await press("Delete");
    await page.getByText("No datasets yet").waitFor();
    assert.equal((await stored()).length, 4, "the pictures stay");
  },
);
