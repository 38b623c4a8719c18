/** Video of cameras in Chromium, with the published TypeScript SDK's StreamClient. */
import assert from "node:assert/strict";
import { delimiter, join } from "node:path";
import type { JsonObject } from "@bufbuild/protobuf";
import { ignoreWithout } from "../../shared/test_tools/skips.ts";
import { eventually, READY_LINE, type Rig, rigTest } from "../e2e/rig.ts";
import { VideoBrowser } from "./video_page.ts";
import { runToEnd } from "../e2e/run_to_end.ts";

const ignore = ignoreWithout(import.meta.url, "chromium", "ffmpeg");

/** Starts a machine with a camera that moves and one that doesn't. */
async function startMachine(rig: Rig, origin: string, env: Record<string, string> = {}) {
  const file = join(rig.dir, "video.json");
  const camera = (name: string, attributes: JsonObject) => ({
    ...{ name, api: "rdk:component:camera", model: "rdk:builtin:fake", attributes },
  });
  const components = [
    camera("front", { width: 320, height: 180, animated: true }),
    camera("back", { width: 160, height: 90 }),
  ];
  const network = {
    bind_address: `127.0.0.1:${rig.serverPort}`,
    allowed_origins: [origin],
  };
  await Deno.writeTextFile(file, JSON.stringify({ components, network }));
  const server = rig.spawn("machine-server", ["-config", file, "-debug"], env);
  await server.waitForLine(READY_LINE, 90_000);
  return server;
}

/** A `PATH` with all programs but one. */
async function pathWithout(rig: Rig, program: string): Promise<string> {
  const folder = join(rig.dir, "programs");
  await Deno.mkdir(folder);
  for (const from of (Deno.env.get("PATH") ?? "").split(delimiter)) {
    const entries = await Array.fromAsync(Deno.readDir(from)).catch(() => []);
    for (const { name } of entries) {
      // The first one of a name counts.
      if (name !== program) {
        await Deno.symlink(join(from, name), join(folder, name)).catch(() => {});
      }
    }
  }
  return folder;
}

/** Encoders that run below a process. */
async function encoders(pid: number): Promise<number> {
  const { stdout } = await runToEnd("ps", {
    args: ["-o", "ppid=,comm=", "-e"],
  });
  return new TextDecoder().decode(stdout).split("\n")
    .filter((line) => new RegExp(`^\\s*${pid} ffmpeg`).test(line)).length;
}

rigTest(
  "Chromium sees a camera move, with others, in other sizes, until it leaves",
  async (rig) => {
    await using browser = await VideoBrowser.open();
    const { pid } = await startMachine(rig, browser.origin);
    const first = await browser.page();
    await first.call("connect", `127.0.0.1:${rig.serverPort}`, rig.serverUrl);
    assert.deepEqual(await first.call("names"), ["back", "front"]);
    assert.deepEqual(await first.call("look", "front"), { id: "front", kind: "video" });
    const seen = await first.until(
      "front",
      "a picture",
      ({ width, frames }) => width === 320 && frames > 2,
    );
    assert.equal(seen.height, 180);
    await first.until("front", "other pixels", ({ sum }) => sum !== seen.sum);
    assert.equal(await encoders(pid), 1);

    // Another person, one encoder; and a second camera on the same connection.
    const second = await browser.page();
    await second.call("connect", `127.0.0.1:${rig.serverPort}`, rig.serverUrl);
    await second.call("look", "front");
    const other = await second.until("front", "a picture", ({ frames }) => frames > 2);
    await second.until("front", "other pixels", ({ sum }) => sum !== other.sum);
    assert.equal(await encoders(pid), 1);
    await second.call("look", "back");
    const still = await second.until(
      "back",
      "a picture",
      ({ width, frames }) => width === 160 && frames > 0,
    );
    assert.ok(still.corner[0]! > 200 && still.corner[2]! < 80, `yellow, not ${still.corner}`);
    assert.equal(await encoders(pid), 2);

    // Sizes are for all who look.
    assert.deepEqual((await first.call<number[][]>("options", "front"))[0], [320, 180]);
    await first.call("setOptions", "front", 160, 90);
    await second.until("front", "the smaller size", ({ width }) => width === 160);
    await first.call("resetOptions", "front");
    await first.until("front", "its own size again", ({ width }) => width === 320);
    assert.match(
      await first.call("attempt", "setOptions", "front", 161, 90),
      /resolution\.width is 161; an even number/,
    );

    // It ends with the last one, whether they say so or not.
    await first.call("remove", "front");
    await second.until("front", "more frames", ({ frames }) => frames > other.frames + 5);
    await second.call("remove", "back");
    await eventually("one encoder", async () => await encoders(pid) === 1);
    await first.call("look", "front");
    await second.close();
    await first.call("disconnect");
    await eventually("no encoder", async () => await encoders(pid) === 0);
  },
  { ignore },
);

rigTest("docs/video.md has a machine and a page that show a camera", async (rig) => {
  const page = await Deno.readTextFile(new URL("../../docs/video.md", import.meta.url));
  const [config = "", html = ""] = [...page.matchAll(/```(?:json|html)\n([^]*?)```/g)]
    .map(([, block]) => block ?? "");
  await using browser = await VideoBrowser.open(
    html.replaceAll("127.0.0.1:8080", `127.0.0.1:${rig.serverPort}`)
      .replace("@viamrobotics/sdk", "/sdk.js"),
  );
  const file = join(rig.dir, "machine.json");
  await Deno.writeTextFile(
    file,
    config.replace("127.0.0.1:8080", `127.0.0.1:${rig.serverPort}`)
      .replace("http://127.0.0.1:8000", browser.origin),
  );
  const server = rig.spawn("machine-server", ["-config", file]);
  await server.waitForLine(READY_LINE, 90_000);
  const opened = await browser.page("/example");
  await opened.page.waitForFunction("document.querySelector('video').videoWidth === 640");
  await opened.page.waitForFunction(
    "document.querySelector('video').getVideoPlaybackQuality().totalVideoFrames > 5",
  );
}, { ignore });

rigTest("an encoder that dies is started again, and viewers see on", async (rig) => {
  await using browser = await VideoBrowser.open();
  const { pid } = await startMachine(rig, browser.origin);
  const page = await browser.page();
  await page.call("connect", `127.0.0.1:${rig.serverPort}`, rig.serverUrl);
  await page.call("look", "front");
  const before = await page.until("front", "a picture", ({ frames }) => frames > 2);
  const { success } = await runToEnd("pkill", { args: ["-KILL", "-P", `${pid}`, "ffmpeg"] });
  assert.ok(success);
  await page.until("front", "more frames", ({ frames }) => frames > before.frames + 20);
}, { ignore });

rigTest("without ffmpeg the caller learns what to install", async (rig) => {
  await using browser = await VideoBrowser.open();
  await startMachine(rig, browser.origin, { PATH: await pathWithout(rig, "ffmpeg") });
  const page = await browser.page();
  await page.call("connect", `127.0.0.1:${rig.serverPort}`, rig.serverUrl);
  const said = await page.call<string>("attempt", "look", "front");
  assert.match(
    said,
    /ffmpeg is not installed on the machine's host.*apt install ffmpeg.*GetImages/,
  );
  assert.match(
    await page.call("attempt", "look", "side"),
    /no camera "side"; there are: back, front/,
  );
}, { ignore });
