/** Video of a machine's camera in the console, of a real machine-server with ffmpeg. */
import assert from "node:assert/strict";
import { ignoreWithout } from "../../shared/test_tools/skips.ts";
import { waitFor } from "../../shared/base/time/wait_for.ts";
import { ConsoleRig } from "./console_rig.ts";
import { startMachine, WAIT } from "./rig_machine.ts";

Deno.test({
  name: "a camera's card shows its video, says so, and shows images when they are chosen",
  ignore: ignoreWithout(import.meta.url, "chromium", "ffmpeg"),
  async fn() {
    await using rig = await ConsoleRig.open();
    const api = "rdk:component:camera";
    await using _machine = await startMachine(rig, {
      components: [
        {
          ...{ name: "front", api, model: "rdk:builtin:fake" },
          attributes: { width: 640, height: 360, animated: true },
        },
      ],
    });
    const opened = await rig.signedIn(`/machines/${rig.made.machine_id}/control`);
    const { page } = opened;
    const card = page.getByRole("region", { name: `front, ${api}`, exact: true });
    await card.getByText("640 × 360").waitFor();
    await card.getByText("Video", { exact: true }).waitFor();
    const pixels = () =>
      page.evaluate(`(() => {
        const canvas = document.createElement("canvas");
        [canvas.width, canvas.height] = [64, 36];
        canvas.getContext("2d").drawImage(document.querySelector("video"), 0, 0, 64, 36);
        return canvas.toDataURL();
      })()`) as Promise<string>;
    const before = await pixels();
    await waitFor(async () => await pixels() !== before, WAIT);
    await opened.inspect("machine-video");

    await card.getByLabel("Refresh").selectOption("slow");
    await card.locator("canvas").waitFor();
    assert.equal(await card.locator("video").isVisible(), false);
    assert.equal(await card.getByText("Video", { exact: true }).count(), 0);
    await card.getByLabel("Refresh").selectOption("live");
    await card.getByText("Video", { exact: true }).waitFor();
    await waitFor(() => card.locator("video").isVisible(), WAIT);
  },
});
