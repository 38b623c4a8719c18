/** The map of machines, locations as a tree, and what a viewer keeps of the fleet, in a browser. */
import assert from "node:assert/strict";
import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import { encode } from "fast-png";
import { DataSyncService, DataType } from "../../shared/gen/viam/app/datasync/v1/data_sync_pb.ts";
import { ignoreWithout } from "../../shared/test_tools/skips.ts";
import { ConsoleRig, consoleTest, PHONE } from "./console_rig.ts";
import { keyboardHands } from "./input_devices.ts";

consoleTest(
  import.meta.url,
  "machines with a position are on the map, in clusters that open by pointer and keyboard",
  async (rig) => {
    const { app, made } = rig;
    const at = async (name: string, latitude: number, longitude: number) => {
      const { id } = await app.newRobot({ name, location: made.location_id });
      await app.updateRobotMetadata({ id, data: { position: { latitude, longitude } } });
      return id;
    };
    const opened = await rig.signedIn("/?view=map");
    const { page } = opened;
    await page.getByText("No machine says where it is").waitFor();

    await at("munich-1", 48.14, 11.58);
    await page.getByText("1 machine in this part").waitFor();
    // Those that come later, far away, are in view as long as nobody chose a part.
    await at("munich-2", 48.14, 11.58);
    await at("augsburg", 48.37, 10.9);
    const sydney = await at("sydney", -33.87, 151.21);
    const map = page.getByRole("region", { name: "Map of the fleet" });
    await map.getByRole("button", { name: "3 machines" }).waitFor();
    await page.getByText("4 machines in this part").waitFor();
    await page.getByText("1 without a position").waitFor();
    await opened.inspect("fleet-map");

    const hands = keyboardHands(page);
    await hands.press(map.getByRole("button", { name: "3 machines" }));
    await map.getByRole("link", { name: "augsburg" }).waitFor();
    await page.waitForURL(/at=48\.\d+%2C11\.\d+%2C\d+/);
    // Those at one place stay one mark, and are chosen in the list.
    await map.getByRole("button", { name: "2 machines" }).click();
    await page.getByText("2 machines at this place").waitFor();
    await page.reload();
    await map.getByRole("link", { name: "augsburg" }).waitFor();
    await page.getByRole("button", { name: "Show all", exact: true }).click();
    await map.getByRole("link", { name: "sydney" }).waitFor();

    await page.getByPlaceholder("Search name").fill("sydney");
    await page.getByText("1 machine in this part").waitFor();
    await map.getByRole("link", { name: "sydney" }).click();
    await page.getByRole("heading", { name: "sydney" }).waitFor();
    await page.waitForURL(new RegExp(`/machines/${sydney}$`));
    await page.goto(`${rig.cloud.url}/machines/${sydney}/settings`);
    const field = page.getByLabel("Position: latitude, longitude");
    await field.fill("91, 0");
    await page.getByText("Write two numbers").waitFor();
    await field.fill("-37.8, 144.9");
    await page.getByRole("button", { name: "Save", exact: true }).click();
    await page.getByText("Saved.").waitFor();
    assert.deepEqual((await app.getRobotMetadata({ id: sydney })).data, {
      ...{ position: { latitude: -37.8, longitude: 144.9 }, tags: [] },
    });

    await page.goto(`${rig.cloud.url}/machines/${sydney}`);
    const place = page.getByRole("region", { name: "Where it is" });
    await place.getByText("-37.80000°, 144.90000°").waitFor();
    await place.locator(".machine.awaiting-setup").waitFor();
    await opened.inspect("machine-place");
    await place.getByRole("link", { name: "On the map of the fleet" }).click();
    await page.waitForURL(/view=map&at=-37\.8/);
    await map.getByRole("link", { name: "sydney" }).waitFor();

    // Where a movement sensor was comes before what the metadata say.
    const time = timestampFromDate(new Date());
    await rig.part(DataSyncService).dataCaptureUpload({
      metadata: {
        ...{ partId: made.part_id, componentType: "rdk:component:movement_sensor" },
        ...{ componentName: "gps", methodName: "Position", type: DataType.TABULAR_SENSOR },
      },
      sensorContents: [{
        metadata: { timeRequested: time, timeReceived: time },
        data: { case: "struct", value: { coordinate: { latitude: -37.7, longitude: 145 } } },
      }],
    });
    await page.goto(`${rig.cloud.url}/?view=map&at=-37.7,145,6&q=rover`);
    await map.getByRole("link", { name: "rover" }).waitFor();
    await page.goto(`${rig.cloud.url}/machines/${made.machine_id}`);
    await place.getByText("-37.70000°, 145.00000°").waitFor();
    await opened.inspect("machine-place-captured");
    await place.getByRole("link", { name: "Captured by gps" }).click();
    await page.getByRole("cell", { name: "145" }).first().waitFor();
  },
);

consoleTest(
  import.meta.url,
  "a move of the map sorts and groups no machine again",
  async (rig) => {
    const { app, made } = rig;
    for (const [name, latitude] of [["munich", 48.1], ["rome", 41.9]] as const) {
      const { id } = await app.newRobot({ name, location: made.location_id });
      await app.updateRobotMetadata({ id, data: { position: { latitude, longitude: 12 } } });
    }
    const opened = await rig.page();
    await opened.context.addInitScript(COUNT_COMPARISONS);
    await opened.keepKey(
      await rig.tokenFor("api-key", made.api_key_id, made.api_key),
      made.api_key_id,
    );
    await opened.go("/?view=map");
    const { page } = opened;
    await page.getByText("2 machines in this part").waitFor();
    const before = await page.evaluate("comparisons");
    assert.notEqual(before, 0);
    await page.locator(".leaflet-container").focus();
    for (const key of ["ArrowRight", "ArrowUp", "+"]) {
      const address = page.url();
      await page.keyboard.press(key);
      await page.waitForURL((url) => url.href !== address);
    }
    assert.equal(await page.evaluate("comparisons"), before);

    // An address with another part, such as a saved view's, moves the map; so does Back.
    const map = page.getByRole("region", { name: "Map of the fleet" });
    const follow = (at: string) =>
      page.evaluate(`{
        const link = document.createElement("a");
        link.href = "/?view=map&at=${at}";
        document.body.append(link);
        link.click();
        link.remove();
      }`);
    for (const [name, at] of [["munich", "48.1,12,9"], ["rome", "41.9,12,9"]] as const) {
      await follow(at);
      await map.getByRole("link", { name }).waitFor();
      await page.getByText("1 machine in this part").waitFor();
    }
    await page.goBack();
    await map.getByRole("link", { name: "munich" }).waitFor();
  },
);

consoleTest(
  import.meta.url,
  "locations filter with all that is in them; columns and views are kept",
  async (rig) => {
    const { app, made } = rig;
    const inside = async (name: string, parentLocationId: string) => {
      const made_ = { organizationId: made.org_id, name, parentLocationId };
      return (await app.createLocation(made_)).location?.id ?? "";
    };
    const hall = await inside("Hall", made.location_id);
    const bench = await inside("Bench", hall);
    const yard = await inside("Yard", "");
    for (const [name, location] of [["press", hall], ["drill", bench], ["truck", yard]] as const) {
      await app.newRobot({ name, location });
    }
    const opened = await rig.signedIn("/");
    const { page } = opened;
    const names = () => page.getByRole("row").getByRole("link").allInnerTexts();
    const tree = page.getByRole("navigation", { name: "Locations" });
    await tree.getByRole("link", { name: "Hall 2" }).click();
    await page.getByText("2 of 4 machines").waitFor();
    assert.deepEqual(await names(), ["drill", "press"]);
    await page.waitForURL(new RegExp(`location=${hall}`));
    await page.reload();
    await page.getByText("2 of 4 machines").waitFor();
    await tree.getByRole("button", { name: "Show what is in Hall" }).click();
    await tree.getByRole("link", { name: "Bench 1" }).waitFor({ state: "detached" });
    await opened.inspect("fleet-tree");
    await page.setViewportSize(PHONE);
    await page.getByLabel("Location", { exact: true }).selectOption({ value: bench });
    await page.getByText("1 of 4 machines").waitFor();
    await page.setViewportSize({ width: 1280, height: 800 });

    await page.getByRole("button", { name: "Columns and views" }).click();
    await page.getByLabel("Platform").uncheck();
    await page.getByLabel("Name of this view").fill("At the bench");
    await page.getByRole("button", { name: "Save view" }).click();
    await page.getByRole("link", { name: "At the bench" }).waitFor();
    assert.deepEqual(await opened.axe(), []);
    await opened.picture("fleet-columns");
    await page.keyboard.press("Escape");
    assert.equal(await page.getByRole("columnheader", { name: "Platform" }).count(), 0);
    await page.goto(rig.cloud.url);
    await page.getByText("4 machines", { exact: true }).waitFor();
    assert.equal(await page.getByRole("columnheader", { name: "Platform" }).count(), 0);
    await page.getByRole("button", { name: "Columns and views" }).click();
    await page.getByRole("link", { name: "At the bench" }).click();
    await page.getByText("1 of 4 machines").waitFor();
    assert.deepEqual(await names(), ["drill"]);

    // What the bar of a phone has no room for is below "More".
    await page.setViewportSize(PHONE);
    await page.getByRole("button", { name: "More" }).click();
    assert.deepEqual(await opened.axe(), []);
    await opened.picture("more");
    await page.getByRole("dialog").getByRole("link", { name: "Organisation" }).click();
    await page.waitForURL(/\/organization$/);
  },
);

Deno.test({
  name: "the map shows tiles of the server that the cloud names, and of no other",
  ignore: ignoreWithout(import.meta.url, "chromium"),
  async fn() {
    const picture = encode({ width: 1, height: 1, data: new Uint8Array([0, 128, 0]), channels: 3 });
    const asked: { path: string; referrer: string | null }[] = [];
    const tiles = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen() {} }, (request) => {
      asked.push({ path: new URL(request.url).pathname, referrer: request.headers.get("referer") });
      return new Response(new Uint8Array(picture), { headers: { "content-type": "image/png" } });
    });
    const server = `http://127.0.0.1:${tiles.addr.port}`;
    try {
      await using rig = await ConsoleRig.open({
        mapTiles: { urlTemplate: `${server}/{z}/{x}/{y}.png`, attribution: "<b>© Somebody</b>" },
      });
      const { app, made } = rig;
      await app.updateRobotMetadata({
        id: made.machine_id,
        data: { position: { latitude: 48.14, longitude: 11.58 } },
      });
      const opened = await rig.signedIn("/?view=map&at=48,11,3");
      const { page } = opened;
      await page.getByText("<b>© Somebody</b>").waitFor();
      await page.locator("img.leaflet-tile-loaded").first().waitFor();
      assert.match(asked[0]?.path ?? "", /^\/3\/\d\/\d\.png$/);
      assert.equal(asked[0]?.referrer, `${rig.cloud.url}/`);
      const refused = await page.evaluate(`new Promise((resolve) => {
        const image = new Image();
        image.onerror = () => resolve("refused");
        image.onload = () => resolve("loaded");
        image.src = "http://127.0.0.1:1/x.png";
      })`);
      assert.equal(refused, "refused");
      assert.notDeepEqual(opened.refusals.splice(0), []);
      opened.complaints.splice(0);
    } finally {
      await tiles.shutdown();
    }
  },
});

/** Counts what the list's order asks of its collator. */
const COUNT_COMPARISONS = `
  window.comparisons = 0;
  const { get } = Object.getOwnPropertyDescriptor(Intl.Collator.prototype, "compare");
  Object.defineProperty(Intl.Collator.prototype, "compare", {
    get() {
      const compare = get.call(this);
      return (a, b) => (window.comparisons++, compare(a, b));
    },
  });
`;
