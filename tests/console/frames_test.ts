/** Frames in space, of a real machine-server. */
import assert from "node:assert/strict";
import { ignoreWithout } from "../../shared/test_tools/skips.ts";
import { ConsoleRig } from "./console_rig.ts";
import { startMachine } from "./rig_machine.ts";

Deno.test({
  name: "frames are drawn where they are, turned by keys and pointer, and listed",
  ignore: ignoreWithout(import.meta.url, "chromium"),
  async fn() {
    await using rig = await ConsoleRig.open();
    const framed = (name: string, parent: string, x: number, z: number) => ({
      ...{ name, api: "rdk:component:generic", model: "rdk:builtin:fake" },
      frame: { parent, translation: { x, y: 0, z } },
    });
    await using _machine = await startMachine(rig, {
      components: [framed("table", "world", 0, 700), framed("camera-mount", "table", 400, 300)],
    });
    const opened = await rig.signedIn(`/machines/${rig.made.machine_id}/control`);
    const { page } = opened;
    await page.getByText("Frames in space").click();
    await page.getByRole("row", { name: "camera-mount table 400 · 0 · 1000" }).waitFor();
    await page.getByRole("row", { name: "table world 0 · 0 · 700" }).waitFor();
    const space = page.getByRole("application", { name: /^2 frames in space/ });
    const pixels = () =>
      page.evaluate("document.querySelector('[role=application] canvas').toDataURL()") as Promise<
        string
      >;
    const before = await pixels();
    assert.ok(before.length > 3_000, "something is drawn");
    await space.focus();
    await page.keyboard.press("ArrowLeft");
    await page.keyboard.press("+");
    const turned = await pixels();
    assert.notEqual(turned, before);
    await page.getByRole("button", { name: "Reset view" }).click();
    assert.equal(await pixels(), before);
    await space.hover();
    await page.mouse.down();
    await page.mouse.move(300, 300, { steps: 3 });
    await page.mouse.up();
    assert.notEqual(await pixels(), before);
    await opened.inspect("machine-frames");
  },
});
