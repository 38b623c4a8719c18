// The firmware of machine-micro-server on an emulated board, at a real cloud. Compiling takes minutes,
// so `make smoke` runs it. FIRMWARE_KILLS=200 for the long run of kills in updates.
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { relative } from "node:path";
import process from "node:process";
import { ignoreBecause } from "../../shared/test_tools/skips.ts";
import type { BuiltFirmware } from "../../tools/micro/firmware/build.ts";
import { ROOT } from "../../tools/programs.ts";
import { runTypescriptSdk } from "../compat/typescript_sdk.ts";
import { runPython } from "../e2e/python_sdk.ts";
import { eventually, type Rig, rigTest } from "../e2e/rig.ts";
import {
  boardOf,
  firmware,
  HOST_ADDRESS,
  noFirmwareBecause,
  type TlsFront,
} from "./firmware_board.ts";
import { isSettled } from "./micro_updates.ts";

/** An image takes minutes where many other programs run. */
const DEADLINE_MS = 600_000;
const MOST_BYTES = 2e6;
/** Of the heap in use, with five resources and TLS. */
const MOST_HEAP = 512 * 1024;
const KILLS = Number(process.env["FIRMWARE_KILLS"] ?? 1);

const ignore = ignoreBecause(import.meta.url, await noFirmwareBecause());

const component = (name: string, model: string, api = "sensor", attributes = {}) => ({
  name,
  api: `rdk:component:${api}`,
  model: `rdk:builtin:${model}`,
  attributes,
});

async function readingsOf(rig: Rig, name: string) {
  const { readings } = await rig.liveStatus();
  return readings.find((each) => each.name === name)?.readings;
}

rigTest("the firmware comes online over TLS, takes a change and is read by SDKs", async (rig) => {
  const built = await firmware("1.2.3");
  assert.ok((await Deno.stat(built.image)).size <= MOST_BYTES);
  const { board, front } = await boardOf(rig, built);
  await using _front = front;
  const components = [
    component("fake", "fake"),
    component("wheel", "fake", "motor"),
    component("host", "host"),
    component("board", "board", "board"),
    component("light", "gpio", "switch", { pin: "3" }),
  ];
  await rig.saveConfig({ components });
  rig.programs.push(board.start());
  await eventually("online with readings", async () => {
    const { online } = await rig.liveStatus();
    return online && (await readingsOf(rig, "fake"))?.["a"] === 1;
  }, DEADLINE_MS);
  // More for a moment, while it connects.
  const heap = await eventually(`less than ${MOST_HEAP} bytes of heap`, async () => {
    const used = Number((await readingsOf(rig, "host"))?.["memory_used"]);
    return used > 0 && used < MOST_HEAP && used;
  }, DEADLINE_MS);
  process.stdout.write(`the firmware uses ${Math.round(heap / 1024)} KiB of heap\n`);

  const { api_key_id: id, api_key: key, fqdn } = rig.bootstrapped;
  const script = new URL("../compat/micro_tour.py", import.meta.url);
  const { stdout } = await runPython(script, [`127.0.0.1:${board.port}`, id, key]);
  const [last = ""] = new TextDecoder().decode(stdout).trim().split("\n").slice(-1);
  const { version, position, fake } = JSON.parse(last);
  assert.deepEqual([version, position, fake], ["1.2.3", 2, { a: 1, b: 2, c: 3 }]);
  const found = {
    resources: components.map((each) => each.name).sort(),
    fake: { a: 1, b: 2, c: 3 },
    version: "1.2.3",
  };
  const tour = (...args: string[]) => runTypescriptSdk("micro_tour.mjs", args, DEADLINE_MS);
  // One wheel, turned by all of them: over gRPC-web at its port, and through the cloud.
  const direct = await tour(`http://localhost:${board.port}`, id, key);
  assert.deepEqual(direct, { ...found, position: 4 });
  assert.deepEqual(await tour(fqdn, id, key, rig.cloudUrl), { ...found, position: 6 });

  await rig.saveConfig({
    components: [component("fake", "fake", "sensor", { readings: { t: 21.5 } })],
  });
  const isChanged = async () => (await readingsOf(rig, "fake"))?.["t"] === 21.5;
  await eventually("the change", isChanged, DEADLINE_MS);
  assert.ok((await rig.logs("machine-micro-server 1.2.3")).length > 0);
}, { ignore });

/** Serves images over TLS, and the update service that names one. */
function imageServer(front: TlsFront, images: Readonly<Record<string, Uint8Array>>) {
  const server = Deno.serve({
    ...{ hostname: "127.0.0.1", port: 0, ...front.pair },
    onListen: () => undefined,
  }, (request) => {
    const image = images[new URL(request.url).pathname.slice(1)];
    return image ? new Response(image.slice()) : new Response("", { status: 404 });
  });
  const update = (version: string) => ({
    name: "firmware",
    api: "rdk:service:generic",
    model: "rdk:builtin:ota_service",
    attributes: {
      url: `https://${HOST_ADDRESS}:${server.addr.port}/${version}`,
      version,
      sha256: createHash("sha256").update(images[version] ?? "").digest("hex"),
    },
  });
  return { update, [Symbol.asyncDispose]: () => server.shutdown() };
}

/** An image whose script throws when it starts. */
async function brokenFirmware(rig: Rig): Promise<BuiltFirmware> {
  const script = `${rig.dir}/broken.ts`;
  await Deno.writeTextFile(script, 'throw new Error("it is broken");\n');
  return await firmware("0.3.0", relative(ROOT, script));
}

rigTest(
  `the firmware updates itself, through ${KILLS} kills, and goes back from bad images`,
  async (rig) => {
    const first = await firmware("0.1.0");
    const { board, front } = await boardOf(rig, first);
    await using _front = front;
    // An image of another board: what x86-64 has at the beginning of its programs.
    const foreign = new Uint8Array(100_000).fill(0x90);
    foreign.set(new TextEncoder().encode("\x7fELF\x02\x01\x01"));
    await using images = imageServer(front, {
      "0.2.5": foreign,
      "0.2.0": await Deno.readFile((await firmware("0.2.0")).image),
      "0.3.0": await Deno.readFile((await brokenFirmware(rig)).image),
    });
    const components = [component("fake", "fake")];
    await rig.saveConfig({ components });
    let running = board.start();
    rig.programs.push(running);
    await running.waitForLine(/applied revision/, DEADLINE_MS);

    await rig.saveConfig({ components, services: [images.update("0.2.0")] });
    for (let kill = 0; kill < KILLS; kill++) {
      // Of the image before, until it was on trial; while it is erased, written, activated and tried.
      await running.waitForLine(/machine-micro-server 0\.[12]\.0/, DEADLINE_MS);
      await eventually("0.2.0 comes, or is decided on", () =>
        Promise.resolve(
          running.lines.some((line) => /downloads 0\.2\.0|0\.2\.0 (is|was) /.test(line)) ||
            isSettled(running.lines, "0.2.0"),
        ), DEADLINE_MS);
      await new Promise((resolve) => setTimeout(resolve, kill * 397 % 3001));
      running.signal("SIGKILL");
      await running.exited;
      running = board.start();
      rig.programs.push(running);
    }
    await eventually(
      "0.2.0 is confirmed or rolled back",
      () => Promise.resolve(isSettled(running.lines, "0.2.0")),
      DEADLINE_MS,
    );

    await rig.saveConfig({ components, services: [images.update("0.2.5")] });
    await running.waitForLine(
      /loader: the image is damaged or of another board: the one before runs again/,
      DEADLINE_MS,
    );
    await running.waitForLine(/0\.2\.5 was tried and rolled back/, DEADLINE_MS);

    await rig.saveConfig({ components, services: [images.update("0.3.0")] });
    await running.waitForLine(/it is broken/, DEADLINE_MS);
    await running.waitForLine(
      /the image was not confirmed: the one before runs again/,
      DEADLINE_MS,
    );
    await running.waitForLine(/0\.3\.0 was tried and rolled back/, DEADLINE_MS);
    await eventually("online", async () => (await rig.liveStatus()).online, DEADLINE_MS);
  },
  { ignore },
);
