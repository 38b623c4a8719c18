/** Video of a machine's camera in the console, of a real machine-server with ffmpeg. */
import assert from "node:assert/strict";
import { ignoreWithout } from "../../shared/test_tools/skips.ts";
import { waitFor } from "../../shared/base/time/wait_for.ts";
import { ConsoleRig } from "./console_rig.ts";
import { startMachine, WAIT } from "./machine_rig.ts";

Deno.test({
  name: "cards of cameras, of another part's too, show video, say so, and show images when chosen",
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
    const { partId } = await rig.app.newRobotPart({
      robotId: rig.made.machine_id,
      partName: "arm",
    });
    await using _arm = await startMachine(rig, {
      components: [
        {
          ...{ name: "wrist", api, model: "rdk:builtin:fake" },
          attributes: { width: 320, height: 240, animated: true },
        },
      ],
    }, partId);
    const opened = await rig.signedIn(`/machines/${rig.made.machine_id}/control`);
    const { page } = opened;
    const card = page.getByRole("region", { name: `front, ${api}`, exact: true });
    await card.getByText("640 × 360").waitFor();
    await card.getByText("Video", { exact: true }).waitFor();
    const changes = async (of: typeof card) => {
      const pixels = () => of.locator("video").evaluate(PIXELS);
      const before = await pixels();
      await waitFor(async () => await pixels() !== before, WAIT);
    };
    await changes(card);
    const wrist = page.getByRole("region", { name: `arm:wrist, ${api}`, exact: true });
    await wrist.scrollIntoViewIfNeeded();
    await wrist.getByText("320 × 240").waitFor();
    await wrist.getByText("Video", { exact: true }).waitFor();
    await changes(wrist);
    await card.scrollIntoViewIfNeeded();
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

/** What a video shows now. */
const PIXELS = new Function(
  "video",
  `const canvas = document.createElement("canvas");
  [canvas.width, canvas.height] = [64, 36];
  canvas.getContext("2d").drawImage(video, 0, 0, 64, 36);
  return canvas.toDataURL();`,
) as (video: unknown) => string;
