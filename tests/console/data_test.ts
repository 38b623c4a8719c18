/** The page Data, in a browser. */
import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import { encode } from "fast-png";
import assert from "node:assert/strict";
import { DataService } from "../../shared/gen/viam/app/data/v1/data_pb.ts";
import { DataSyncService, DataType } from "../../shared/gen/viam/app/datasync/v1/data_sync_pb.ts";
import { ignoreWithout } from "../../shared/test_tools/skips.ts";
import { ConsoleRig } from "./console_rig.ts";
import { HOSTILE } from "./hostile_texts.ts";

const ignore = ignoreWithout(import.meta.url, "chromium");

/** Two hours of readings with a pause, hostile ones of another sensor, and 26 images. */
async function capture(rig: ConsoleRig): Promise<void> {
  const sync = rig.part(DataSyncService);
  const partId = rig.made.part_id;
  const now = Date.now();
  const sensor = (name: string) => ({
    ...{ partId, componentType: "rdk:component:sensor", componentName: name },
    ...{ methodName: "Readings", type: DataType.TABULAR_SENSOR },
  });
  const reading = (at: number, readings: Record<string, string | number | boolean>) => ({
    metadata: { timeRequested: timestampFromMs(at), timeReceived: timestampFromMs(at) },
    data: { case: "struct" as const, value: { readings } },
  });
  const times = Array.from({ length: 1_400 }, (_, at) => now - 7_200_000 + at * 5_000)
    .filter((_, at) => at < 800 || at > 1_000);
  await sync.dataCaptureUpload({
    metadata: sensor("climate"),
    sensorContents: times.map((time, at) =>
      reading(time, {
        temperature: 20 + 3 * Math.sin(at / 90) + (at % 5) / 4,
        humidity: 50 + 8 * Math.cos(at / 60),
        state: "well",
      })
    ),
  });
  await sync.dataCaptureUpload({
    metadata: sensor(HOSTILE[0] ?? ""),
    sensorContents: HOSTILE.map((text, at) =>
      reading(now - 3_700_000 * (at + 1), { [text.replaceAll("\0", "")]: text, plain: at })
    ),
  });
  for (let at = 0; at < 26; at++) {
    const data = new Uint8Array(160 * 120 * 3).map((_, i) => (i * (at + 3)) % 251);
    const time = timestampFromMs(now - (at + 1) * 60_000);
    await sync.dataCaptureUpload({
      metadata: {
        ...{ partId, componentType: "rdk:component:camera", componentName: "eye" },
        ...{ methodName: "ReadImage", type: DataType.BINARY_SENSOR, fileExtension: ".png" },
        tags: at === 3 ? ["night", HOSTILE[1] ?? ""] : [],
      },
      sensorContents: [{
        metadata: { timeRequested: time, timeReceived: time },
        data: { case: "binary", value: encode({ width: 160, height: 120, channels: 3, data }) },
      }],
    });
  }
}

Deno.test({
  name: "the page Data shows readings as plots and table, pictures, and answers queries",
  ignore,
  async fn() {
    await using rig = await ConsoleRig.open();
    const opened = await rig.signedIn("/data");
    const { page } = opened;
    await page.getByText("No readings yet").waitFor();
    await capture(rig);

    await opened.go("/data");
    await page.getByRole("img", { name: /^temperature:/ }).waitFor();
    await page.getByRole("img", { name: /^humidity:/ }).waitFor();
    assert.equal(await page.locator("tbody tr").count(), 50);
    await opened.inspect("data-readings");
    await page.getByRole("button", { name: "Load older readings" }).click();
    await page.getByText("100 readings").waitFor();
    const plotted = () => page.waitForResponse((each) => each.url().endsWith("/PlotTabularData"));
    await Promise.all([plotted(), page.getByLabel("Time range").selectOption("hour")]);
    await page.getByRole("img", { name: /^temperature:/ }).waitFor();
    await page.waitForURL(/range=hour/);
    const box = await page.locator(".u-over").first().boundingBox();
    assert.ok(box);
    await page.mouse.move(box.x + box.width * 0.3, box.y + 40);
    await page.mouse.down();
    // Readings that come while somebody drags don't take the plot away.
    await plotted();
    await page.mouse.move(box.x + box.width * 0.7, box.y + 50, { steps: 5 });
    await page.mouse.up();
    await page.waitForURL(/range=own&from=/);
    await page.getByLabel("From", { exact: true }).waitFor();
    await page.goBack();
    await page.waitForURL(/range=hour/);
    await page.getByLabel("Resource").selectOption({ index: 1 });
    await page.getByText("No readings in this time range").waitFor();
    await page.getByRole("button", { name: "Show the newest" }).click();
    await page.getByRole("img", { name: /^plain:/ }).waitFor();
    await page.getByLabel("Time range").selectOption("week");
    await page.getByText(`${HOSTILE.length} readings`).waitFor();
    await opened.inspect("data-hostile");

    await opened.go("/data?tab=pictures");
    await page.locator("ul.grid img").first().waitFor();
    assert.equal(await page.locator("ul.grid > li").count(), 24);
    await opened.inspect("data-pictures");
    await page.getByRole("button", { name: "Load older pictures" }).click();
    const late = page.locator("ul.grid > li").nth(25);
    await late.waitFor();
    await late.getByRole("button").click();
    await page.getByRole("dialog").locator("img").waitFor();
    await page.keyboard.press("Escape");
    // The list is the same as before, and so is the place in it.
    await late.getByRole("button").and(page.locator(":focus")).waitFor();
    await page.getByLabel("Tag", { exact: true }).fill("night");
    await page.keyboard.press("Enter");
    await page.locator("ul.grid > li").nth(1).waitFor({ state: "detached" });
    const { data: [tagged] } = await rig.client(DataService).binaryDataByFilter({
      dataRequest: { filter: { tagsFilter: { type: 1, tags: ["night"] } } },
    });
    await page.locator("ul.grid button").click();
    const dialog = page.getByRole("dialog");
    await dialog.getByText("<script>").waitFor();
    await dialog.locator("img").waitFor();
    const inAddress = new URL(page.url()).searchParams.get("picture");
    assert.equal(inAddress, tagged?.metadata?.binaryDataId);
    await opened.inspect("data-picture");
    await page.keyboard.press("Escape");
    await dialog.waitFor({ state: "hidden" });

    await opened.go("/data?tab=query");
    const text = page.getByLabel("Query text");
    await text.fill("SELECT nothing FROM readings");
    await text.press("Control+Enter");
    await page.getByRole("alert").getByText("nothing").waitFor();
    opened.complaints.splice(0);
    await text.fill("SELECT count(*) AS n FROM readings WHERE component_name = 'climate'");
    await text.press("Control+Enter");
    await page.getByRole("cell", { name: "1199", exact: true }).waitFor();
    await text.fill("SELECT component_name, data FROM readings ORDER BY received_us LIMIT 20");
    await page.getByRole("button", { name: "Run" }).click();
    await page.getByText("20 rows").waitFor();
    await opened.inspect("data-query");
    await text.fill("SELECT component_name FROM readings LIMIT 10");
    await text.press("Control+Enter");
    await page.getByText("10 rows").waitFor();
    await page.getByLabel("Show as").selectOption("Plot");
    await page.getByText("A plot needs a column of numbers").waitFor();
    const saved = "SELECT time_received, component_name, data ->> '$.readings.temperature' AS " +
      "temperature, 1 AS one FROM readings WHERE component_name = 'climate' LIMIT 50";
    await text.fill(saved);
    await page.getByPlaceholder("Save under a name").fill("temperatures");
    await page.getByRole("button", { name: "Save" }).click();
    await text.fill("SELECT component_name, count(*) AS n FROM readings GROUP BY 1");
    await text.press("Control+Enter");
    await page.getByRole("img", { name: /^n over \d+ values; last, / }).waitFor();
    await page.getByLabel("Saved queries").selectOption("temperatures");
    await text.press("Control+Enter");
    await page.getByRole("img", { name: /^temperature over 50 values/ }).waitFor();
    assert.equal(await page.getByRole("img", { name: / over \d+ values/ }).count(), 2);
    await opened.inspect("data-query-plot");
    await page.getByLabel("Along").selectOption("temperature");
    await page.getByRole("img", { name: /^one over 50 values/ }).waitFor();
    await page.getByRole("img", { name: /^temperature/ }).waitFor({ state: "detached" });
    // Numbers that hardly differ do not keep the page busy.
    await text.fill("SELECT 1e16 AS far, 1 AS one UNION SELECT 1e16 + 2, 2");
    await text.press("Control+Enter");
    await page.getByRole("img", { name: /^one over 2 values/ }).waitFor();
    assert.equal(await page.evaluate("1 + 1"), 2);
    await page.getByLabel("Show as").selectOption("Table");
    await page.getByLabel("Language").selectOption("mql");
    await text.fill("[{");
    await text.press("Control+Enter");
    await page.getByText("This is not a list of stages").waitFor();
    await text.fill(`[{"$match": {"component_name": "climate"}}, {"$count": "found"}]`);
    await text.press("Control+Enter");
    await page.getByRole("columnheader", { name: "found" }).waitFor();
    await page.getByPlaceholder("Save under a name").fill("how many");
    await page.getByRole("button", { name: "Save" }).click();
    await page.getByLabel("Saved queries").selectOption("how many");
    await page.getByLabel("Language").selectOption("sql");
    await page.getByLabel("Saved queries").selectOption("how many");
    assert.match(await text.inputValue(), /"\$count": "found"/, "in its language");
    await page.getByRole("button", { name: "Delete the saved query how many" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Delete", exact: true }).click();
    await page.getByText("“how many” is deleted").waitFor();
    // The button that led to it is gone: who has no pointer continues from the page.
    await page.locator("#main:focus").waitFor();
    await opened.inspect("data-mql");
    assert.equal(await page.evaluate("window.hacked"), undefined);
  },
});

Deno.test({
  name: "the page Data begins with numbers, in the shortest range that holds them",
  ignore,
  async fn() {
    await using rig = await ConsoleRig.open();
    const now = Date.now();
    const upload = (componentName: string, methodName: string, values: readonly object[]) =>
      rig.part(DataSyncService).dataCaptureUpload({
        metadata: {
          ...{ partId: rig.made.part_id, componentType: "rdk:component:sensor" },
          ...{ componentName, methodName, type: DataType.TABULAR_SENSOR },
        },
        sensorContents: values.map((value, at) => {
          const time = timestampFromMs(now - 120_000 + at * 1_000);
          return {
            metadata: { timeRequested: time, timeReceived: time },
            data: { case: "struct" as const, value: { ...value } },
          };
        }),
      });
    const temperatures = Array.from({ length: 60 }, (_, at) => ({ readings: { celsius: at } }));
    await upload("host", "Readings", temperatures);
    await upload("ball", "Detections", Array.from({ length: 90 }, () => ({ detections: [] })));
    const { page } = await rig.signedIn("/data");
    await page.getByRole("img", { name: /^celsius: 0 to 59/ }).waitFor();
    const chosen = page.getByLabel("Time range").locator("option:checked");
    assert.equal(await chosen.textContent(), "Last 10 minutes");
    assert.equal(new URL(page.url()).search, "");
    await page.getByLabel("Time range").selectOption("day");
    await page.waitForURL(/range=day/);
  },
});
