/**
 * Video of a camera: what it costs the server next to the encoder, and how old an image is when
 * Chromium shows it. The camera's images are made before, 720p with the number of the image in
 * black and white; which one is taken follows from the clock, so that its number is its age.
 */
import { join } from "node:path";
import { Rig } from "../e2e/rig.ts";
import { VideoBrowser, type VideoPage } from "../compat/video_page.ts";
import { missingTools } from "../../shared/test_tools/skips.ts";
import { percentile, type Reporter } from "./report.ts";

const BITS = 6;
const PICTURES = 2 ** BITS;
const IMAGE_MS = 1_000 / 30;
const LOOK_MS = 15_000;
/** Clock ticks a second in /proc (Linux). */
const TICKS = 100;

export async function benchVideo(reporter: Reporter): Promise<void> {
  const missing = missingTools("ffmpeg", "chromium");
  if (missing !== undefined) return reporter.note(`left out: ${missing}`);
  await using rig = await Rig.create();
  const pictures = await makeImages(join(rig.dir, "pictures"));
  await using browser = await VideoBrowser.open();
  const taken = new Set<number>();
  const source = Deno.serve({ port: 0, hostname: "127.0.0.1", onListen: () => {} }, () => {
    const number = Math.floor(Date.now() / IMAGE_MS);
    taken.add(number);
    return new Response(pictures[number % PICTURES], { headers: { "content-type": "image/jpeg" } });
  });
  try {
    const file = join(rig.dir, "video.json");
    const camera = {
      ...{ name: "front", api: "rdk:component:camera", model: "rdk:builtin:http" },
      attributes: { url: `http://127.0.0.1:${source.addr.port}/` },
    };
    const network = {
      bind_address: `127.0.0.1:${rig.serverPort}`,
      allowed_origins: [browser.origin],
    };
    await Deno.writeTextFile(file, JSON.stringify({ components: [camera], network }));
    const { pid } = await rig.startServer([], {}, file);
    const first = await browser.page();
    await first.call("connect", `127.0.0.1:${rig.serverPort}`, rig.serverUrl);
    const started = performance.now();
    await first.call("look", "front");
    await first.until("front", "a picture", ({ frames }) => frames > 0);
    reporter.report("video_first_picture", performance.now() - started, "ms");
    reporter.note(`720p at 30 frames a second, ${LOOK_MS / 1_000} s …`);
    await agesSeen(first, LOOK_MS / 3);
    const counted = async () => ({ taken: taken.size, ...await frames(first) });
    const [cpu, before] = [await cpuSeconds(pid), await counted()];
    const begun = performance.now();
    const ages = await agesSeen(first, LOOK_MS);
    const after = await counted();
    const seconds = (performance.now() - begun) / 1_000;
    const share = (await cpuSeconds(pid) - cpu) / seconds;
    for (const what of ["taken", "received", "decoded"] as const) {
      reporter.report(`video_${what}`, (after[what] - before[what]) / seconds, "/s");
    }
    reporter.report("video_pictures", ages.length / (LOOK_MS / 1_000), "/s");
    reporter.report("video_age_p50", percentile(ages, 0.5), "ms");
    reporter.report("video_age_p95", percentile(ages, 0.95), "ms");
    reporter.report("video_server", share * 100, "% of a core");
  } finally {
    await source.shutdown();
  }
}

async function makeImages(folder: string): Promise<Uint8Array<ArrayBuffer>[]> {
  await Deno.mkdir(folder);
  const bits = Array.from({ length: BITS }, (_, bit) => {
    const box = `drawbox=x=${bit * 100}:y=0:w=100:h=100:t=fill`;
    return `${box}:color=black,${box}:color=white:enable='mod(floor(n/${2 ** bit}),2)'`;
  });
  const { success, stderr } = await new Deno.Command("ffmpeg", {
    args: [
      ...["-loglevel", "error", "-f", "lavfi", "-i", "testsrc2=size=1280x720:rate=30"],
      ...["-frames:v", `${PICTURES}`, "-vf", bits.join(","), "-q:v", "5", join(folder, "%d.jpg")],
    ],
  }).output();
  if (!success) throw new Error(new TextDecoder().decode(stderr));
  return await Promise.all(
    Array.from(
      { length: PICTURES },
      (_, number) => Deno.readFile(join(folder, `${number + 1}.jpg`)),
    ),
  );
}

/** Frames that came to the browser so far, and those of them that it decoded. */
async function frames(page: VideoPage): Promise<{ received: number; decoded: number }> {
  const [stats] = await page.call<{ framesReceived: number; framesDecoded: number }[]>("stats");
  if (!stats) throw new Error("the browser has no statistics of the video");
  return { received: stats.framesReceived, decoded: stats.framesDecoded };
}

/** How old each image is when it is shown, in milliseconds. */
async function agesSeen({ page }: VideoPage, forMs: number): Promise<number[]> {
  const seen = await page.evaluate(`new Promise((resolve) => {
    const video = document.querySelector("video");
    const canvas = new OffscreenCanvas(64, 36);
    const pen = canvas.getContext("2d", { willReadFrequently: true });
    const seen = [];
    const end = Date.now() + ${forMs};
    const look = () => {
      const now = Date.now();
      pen.drawImage(video, 0, 0, 64, 36);
      let number = 0;
      for (let bit = 0; bit < ${BITS}; bit++) {
        if (pen.getImageData(5 * bit + 2, 2, 1, 1).data[0] > 127) number += 2 ** bit;
      }
      seen.push([now, number]);
      if (now < end) video.requestVideoFrameCallback(look);
      else resolve(seen);
    };
    video.requestVideoFrameCallback(look);
  })`) as [number, number][];
  const circleMs = PICTURES * IMAGE_MS;
  return seen.map(([now, number]) => {
    const age = (now - number * IMAGE_MS) % circleMs;
    return age < 0 ? age + circleMs : age;
  });
}

/** Of the process alone; a child that runs has its own. */
async function cpuSeconds(pid: number): Promise<number> {
  const fields = (await Deno.readTextFile(`/proc/${pid}/stat`)).replace(/^.*\) /, "").split(" ");
  return (Number(fields[11]) + Number(fields[12])) / TICKS;
}
