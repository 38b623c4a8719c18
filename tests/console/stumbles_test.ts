/** What hands stumble over: lost focus, small targets, what is cut off. */
import assert from "node:assert/strict";
import type { Locator } from "playwright-core";
import { waitFor } from "../../shared/base/time/wait_for.ts";
import { consoleTest, PHONE } from "./console_rig.ts";
import { keyboardHands } from "./input_devices.ts";
import { WAIT } from "./machine_rig.ts";

const LEAST = 40;

/** How large what a finger has to meet is: all of a label counts. */
async function target(what: Locator): Promise<{ width: number; height: number }> {
  const box = await what.boundingBox();
  assert.ok(box, "it is not to be seen");
  return box;
}

consoleTest(
  import.meta.url,
  "a form in a dialog begins at its first field, and neither it nor the page loses the focus",
  async (rig) => {
    const opened = await rig.signedIn("/organization");
    const { page } = opened;
    const hands = keyboardHands(page);
    const dialog = page.getByRole("dialog");
    const has = (what: Locator) =>
      waitFor(
        () => what.evaluate((element) => element === element.ownerDocument.activeElement),
        WAIT,
      );

    await hands.press(page.getByRole("button", { name: "Invite", exact: true }));
    await has(dialog.getByLabel("E-mail address"));
    await page.keyboard.type("bob@example.com");
    await page.keyboard.press("Enter");
    await page.getByText("bob@example.com", { exact: true }).waitFor();
    await dialog.waitFor({ state: "detached" });

    await hands.press(page.getByRole("button", { name: "Invite", exact: true }));
    await page.keyboard.type("bob@example.com");
    const send = dialog.getByRole("button", { name: "Invite", exact: true });
    await hands.press(send);
    await dialog.getByRole("alert").waitFor();
    await has(send);
    await waitFor(async () => await send.getAttribute("aria-busy") === null, WAIT);
    await has(send);
    opened.complaints.splice(0);

    await opened.go("/");
    await hands.check(page.getByLabel("Select rover"));
    await hands.press(page.getByRole("button", { name: "Tag", exact: true }));
    await has(dialog.getByLabel("Tags to add"));
    await page.keyboard.type("pilot");
    await page.keyboard.press("Enter");
    await page.getByText("Done for 1 machine.").waitFor();

    await opened.go("/new-machine");
    await page.getByLabel("Name", { exact: true }).fill("digger");
    await page.keyboard.press("Enter");
    await page.getByText(/^curl -fsSL/).waitFor();
    await has(page.locator("#main"));
  },
);

consoleTest(
  import.meta.url,
  "fingers meet boxes, links and buttons of a phone, and lists in dialogs are not cut off",
  async (rig) => {
    const opened = await rig.signedIn("/", { viewport: PHONE, hasTouch: true, isMobile: true });
    const { page } = opened;
    for (const name of [/^Select rover/, /^Select all/]) {
      const { width, height } = await target(
        page.locator("label").filter({ has: page.getByRole("checkbox", { name }) }),
      );
      assert.ok(width >= LEAST && height >= LEAST, `${name}: ${width} by ${height}`);
    }
    // All of a card leads to its machine.
    const row = await page.getByRole("link", { name: "rover", exact: true }).boundingBox();
    assert.ok(row);
    await page.touchscreen.tap(row.x + row.width / 2, row.y + LEAST);
    await page.waitForURL(`**/machines/${rig.made.machine_id}`);
    const copies = page.getByRole("button", { name: /Copy/ });
    await copies.first().waitFor();
    const links = page.getByRole("navigation", { name: "Fleet" }).getByRole("link");
    for (const what of [...await copies.all(), ...await links.all()]) {
      assert.ok((await target(what)).height >= LEAST, await what.innerText());
    }
    await page.setViewportSize({ width: 900, height: 800 });
    await opened.go("/");
    const name = page.getByRole("link", { name: "rover", exact: true });
    assert.ok((await target(name)).height >= LEAST);
    await page.setViewportSize(PHONE);
    await opened.go(`/machines/${rig.made.machine_id}/configure`);
    await page.getByRole("button", { name: "Add", exact: true }).first().tap();
    const dialog = page.getByRole("dialog");
    await dialog.getByRole("listitem").first().waitFor();
    for (const what of await dialog.getByRole("listitem").all()) {
      const box = await what.boundingBox();
      assert.ok(box && box.x >= 0 && box.x + box.width <= PHONE.width, await what.innerText());
    }
    await dialog.getByRole("listitem").getByRole("button").first().tap();
    await dialog.getByRole("button", { name: "Add", exact: true }).tap();
    const told = page.getByRole("status").filter({ hasText: "1 unsaved change" });
    await told.waitFor();
    assert.ok((await target(told)).width > 100, "the words of the bar have no room");
  },
);
