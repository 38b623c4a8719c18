/** Using the resources of a machine: a real machine-server, reached by the browser over WebRTC. */
import assert from "node:assert/strict";
import { waitFor } from "../../shared/base/time/wait_for.ts";
import { ignoreWithout } from "../../shared/test_tools/skips.ts";
import { ConsoleRig, DESKTOP, LARGE } from "./console_rig.ts";
import { cardsOf, useResources } from "./resource_cards.ts";
import { keepNotes } from "./shown_notes.ts";
import { KINDS, plainModule, startMachine, WAIT } from "./machine_rig.ts";

const ignore = ignoreWithout(import.meta.url, "chromium");
Deno.test({
  name: "the resources of a machine are used from the browser, over WebRTC",
  ignore,
  async fn() {
    await using rig = await ConsoleRig.open();
    await using _machine = await startMachine(rig);
    const opened = await rig.signedIn(`/machines/${rig.made.machine_id}/control`);
    const { page } = opened;
    await keepNotes(page);
    const card = cardsOf(page);
    await page.getByText("Connected directly").waitFor();
    for (const kind of KINDS) await card(kind).waitFor();

    // By the palette: a resource, another tab, and what ends all movement.
    const choose = async (text: string, entry: string) => {
      await page.keyboard.press("ControlOrMeta+k");
      await page.getByLabel("Type the name").fill(text);
      await page.getByRole("option", { selected: true }).getByText(entry, { exact: true })
        .waitFor();
      await page.keyboard.press("Enter");
    };
    await choose("gantry-1", "gantry-1");
    await page.waitForURL(/control\?q=gantry-1$/);
    await card("arm").waitFor({ state: "detached" });
    await page.getByLabel("Search resources").fill("");
    await card("arm").waitFor();
    await choose("stop all", "Stop all");
    await page.getByText("A stop was requested of all resources.").waitFor();
    await page.getByRole("button", { name: "Dismiss" }).click();

    await useResources(page);

    await card("gripper").scrollIntoViewIfNeeded();
    await card("gripper").getByRole("button", { name: "Grab" }).click();
    await card("gripper").getByText(/Grabbed/).waitFor();

    await card("button").scrollIntoViewIfNeeded();
    await card("button").getByRole("button", { name: "Push" }).click();
    await card("button").getByText("Pushed.").waitFor();

    await card("arm").scrollIntoViewIfNeeded();
    await card("arm").getByLabel("Joint 1, degrees").fill("30");
    await card("arm").getByRole("button", { name: "Move" }).click();
    await waitFor(
      async () => await card("arm").getByLabel("Joint 1, degrees").inputValue() === "30",
      WAIT,
    );
    await card("generic").scrollIntoViewIfNeeded();
    await card("generic").getByLabel("Command, as JSON").fill("{");
    await card("generic").getByRole("button", { name: "Send" }).click();
    await card("generic").getByRole("alert").waitFor();

    await card("camera").scrollIntoViewIfNeeded();
    await card("camera").getByText(/^\d+ × \d+$/).waitFor();

    // A method of the form that is made from the descriptors.
    await card("board").scrollIntoViewIfNeeded();
    await card("board").getByText("All methods").click();
    await card("board").getByLabel("Method").selectOption("SetPWM");
    await card("board").getByLabel("pin", { exact: true }).last().fill("7");
    await card("board").getByLabel("duty_cycle_pct").fill("lots");
    await card("board").getByRole("button", { name: "Call" }).click();
    await card("board").getByText("“lots” is not a number").waitFor();
    await card("board").getByLabel("duty_cycle_pct").fill("0.25");
    await card("board").getByRole("button", { name: "Call" }).click();
    await card("board").getByText("It succeeded").waitFor();
    await card("board").getByText("All methods").click();

    await page.getByRole("button", { name: "Stop all" }).click();
    await page.getByText("A stop was requested of all resources.").waitFor();
    await page.evaluate("scrollTo(0, 0)");
    await opened.inspect("machine-control");
    await page.setViewportSize(LARGE);
    await opened.picture("machine-control-large");
    await opened.assertFits();
    const stop = await page.getByRole("button", { name: "Stop all" }).boundingBox();
    assert.ok(stop && stop.x > LARGE.width * 0.9, "the page is as wide as the window");
    await page.setViewportSize(DESKTOP);
    await page.getByPlaceholder("Search resources").fill("gant");
    await card("gantry").waitFor();
    assert.equal(await card("motor").count(), 0);
    await page.waitForURL(/q=gant/);
  },
});

Deno.test({
  name: "a base drives while a key is held, and stops when it is let go or the page goes",
  ignore,
  async fn() {
    await using rig = await ConsoleRig.open();
    await using _machine = await startMachine(rig);
    const watching = await rig.signedIn(`/machines/${rig.made.machine_id}/control?q=base`);
    const opened = await rig.signedIn(`/machines/${rig.made.machine_id}/control?q=base`);
    const stick = opened.page.getByRole("application");
    const isMoving = async () => {
      await watching.page.getByRole("button", { name: "Call" }).click();
      const answer = await watching.page.locator("pre").innerText();
      return (JSON.parse(answer) as { isMoving: boolean }).isMoving;
    };
    await watching.page.getByText("All methods").click();
    await watching.page.getByLabel("Method").selectOption("IsMoving");
    const until = (moves: boolean) => waitFor(async () => await isMoving() === moves, WAIT);

    await stick.focus();
    await opened.page.keyboard.down("KeyW");
    await until(true);
    await opened.page.keyboard.up("KeyW");
    await until(false);
    await opened.page.keyboard.down("ArrowLeft");
    await until(true);
    // Gone without a word: the machine stops what the session moved.
    await opened.context.close();
    await until(false);
  },
});

Deno.test({
  name: "a gantry moves, a camera's picture is saved, and what vision finds is drawn over it",
  ignore,
  async fn() {
    await using rig = await ConsoleRig.open();
    await using _machine = await startMachine(rig);
    const { page } = await rig.signedIn(`/machines/${rig.made.machine_id}/control`);
    const card = cardsOf(page);
    await card("gantry").scrollIntoViewIfNeeded();
    await card("gantry").getByLabel("Axis 1: 0 of").fill("250");
    await card("gantry").getByRole("button", { name: "Move" }).click();
    await card("gantry").getByText("Axis 1: 250 of").waitFor();
    await card("gantry").getByRole("button", { name: "Home" }).click();
    await card("gantry").getByText("Axis 1: 0 of").waitFor();

    await card("camera").scrollIntoViewIfNeeded();
    await card("camera").getByText(/^\d+ × \d+$/).waitFor();
    const [file] = await Promise.all([
      page.waitForEvent("download"),
      card("camera").getByRole("button", { name: "Save picture" }).click(),
    ]);
    assert.match(file.suggestedFilename(), /^camera-1-[\dT-]+\.png$/);
    assert.deepEqual([...(await Deno.readFile(await file.path())).slice(1, 4)], [0x50, 0x4e, 0x47]);

    const eyes = page.getByRole("region", { name: "eyes, rdk:service:vision", exact: true });
    await eyes.scrollIntoViewIfNeeded();
    await eyes.getByText("a_detection 92 %").waitFor();
    await eyes.getByText("a_classification 85 %").waitFor();
    await waitFor(() => eyes.locator("canvas").evaluate(HAS_BOX), WAIT);
  },
});

Deno.test({
  name: "an API that only a module has gets a form of its methods, which the machine describes",
  ignore,
  async fn() {
    await using rig = await ConsoleRig.open();
    await using _machine = await startMachine(rig, {
      modules: [await plainModule(rig)],
      components: [{
        ...{ name: "boiler", api: "acme:component:gauge", model: "acme:plain:gauge" },
        attributes: { value: 7 },
      }],
    });
    const { page } = await rig.signedIn(`/machines/${rig.made.machine_id}/control`);
    const card = page.getByRole("region", { name: "boiler, acme:component:gauge", exact: true });
    await card.getByText("All methods").click();
    await card.getByLabel("Method").selectOption("Read");
    await card.getByLabel("unit").fill("bar");
    await card.getByRole("button", { name: "Call" }).click();
    await card.getByText(/"value": 7,\s+"note": "bar"/).waitFor();
    await card.getByLabel("Method").selectOption("Watch");
    await card.getByLabel("count").fill("3");
    await card.getByRole("button", { name: "Call" }).click();
    await card.getByText(/"value": 3\b/).waitFor();
  },
});

/** Whether a canvas has points of the colour of boxes, as a function of the page. */
const HAS_BOX = new Function(
  "canvas",
  `const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
  for (let at = 0; at < data.length; at += 4) {
    if (data[at] === 0xff && data[at + 1] === 0xd3 && data[at + 2] === 0x3d) return true;
  }
  return false;`,
) as (canvas: unknown) => boolean;
