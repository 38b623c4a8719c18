/** The list of machines, in a browser. */
import assert from "node:assert/strict";
import { MachineService } from "../../shared/gen/machine/cloud/v1/machine_pb.ts";
import { HOSTILE } from "./hostile_texts.ts";
import { consoleTest, PHONE } from "./console_rig.ts";

/** What may be loaded until the first page works. */
const FIRST_LOAD_BYTES = 250_000;

consoleTest(
  import.meta.url,
  "the fleet shows machines, filters by the address, and follows changes",
  async (rig) => {
    const { app, made } = rig;
    const { location } = await app.createLocation({ organizationId: made.org_id, name: "Field" });
    const picker = await app.newRobot({ name: "picker", location: location?.id ?? "" });
    await app.updateRobotMetadata({ id: picker.id, data: { tags: ["harvest"] } });
    const opened = await rig.signedIn("/");
    const { page } = opened;
    const names = () => page.getByRole("row").getByRole("link").allInnerTexts();
    await page.getByRole("link", { name: "rover" }).waitFor();
    assert.deepEqual(await names(), ["picker", "rover"]);
    await page.getByRole("columnheader", { name: "Server" }).waitFor();
    const cut = page.getByRole("cell").filter({ hasText: "awaiting setup" }).first();
    const missing = await cut.evaluate((cell: { scrollWidth: number; clientWidth: number }) =>
      cell.scrollWidth - cell.clientWidth
    );
    assert.ok(missing <= 0, `${missing} pixels of a state are cut off`);
    // Compressed, by gzip, which is larger than the brotli that browsers get over TLS.
    const bytes = await page.evaluate(`performance.getEntriesByType("resource")
      .filter(({ name }) => name.includes("/assets/"))
      .reduce((sum, { encodedBodySize }) => sum + encodedBodySize, 0)`) as number;
    assert.ok(bytes > 50_000 && bytes <= FIRST_LOAD_BYTES, `the first load takes ${bytes} bytes`);

    await page.getByPlaceholder("Search name").fill("harv");
    await page.getByText("1 of 2 machines").waitFor();
    assert.deepEqual(await names(), ["picker"]);
    await page.waitForURL(/q=harv/);
    await page.reload();
    await page.getByText("1 of 2 machines").waitFor();
    assert.equal(await page.getByPlaceholder("Search name").inputValue(), "harv");
    await page.getByPlaceholder("Search name").fill("");
    await page.getByLabel("Group by location").check();
    await page.getByText("Field · 1 machine").waitFor();
    await opened.inspect("fleet-groups");

    await app.updateRobot({ id: picker.id, name: "picker-2" });
    await page.getByRole("link", { name: "picker-2" }).waitFor();
    const stream = rig.part(MachineService).watch({ partId: made.part_id });
    await stream[Symbol.asyncIterator]().next();
    await page.getByRole("row").filter({ hasText: "rover" }).getByText("online").waitFor();
    await app.deleteRobot({ id: picker.id });
    await page.getByRole("link", { name: "picker-2" }).waitFor({ state: "detached" });
    await page.getByRole("link", { name: "rover" }).click();
    await page.getByRole("heading", { name: "rover" }).waitFor();
    await page.waitForURL(new RegExp(`/machines/${made.machine_id}$`));
    await page.goBack();
    await page.getByRole("heading", { name: "Fleet" }).waitFor();
  },
);

consoleTest(
  import.meta.url,
  "hostile names and tags are shown as text, and the layout holds",
  async (rig) => {
    const { app, made } = rig;
    for (const [at, text] of HOSTILE.entries()) {
      await app.updateLocation({
        locationId: made.location_id,
        name: text.replaceAll(/\p{C}/gu, "").slice(0, 100),
      });
      const { id } = await app.newRobot({ name: `m-${at}`, location: made.location_id });
      await app.updateRobotMetadata({ id, data: { tags: [text, `${text} 2`] } });
    }
    const opened = await rig.signedIn("/");
    await opened.page.getByRole("link", { name: "m-0" }).waitFor();
    await opened.inspect("fleet-hostile");
    assert.equal(await opened.page.evaluate("window.hacked ?? 'no'"), "no");
    await opened.page.setViewportSize(PHONE);
    await opened.assertFits();
  },
);
