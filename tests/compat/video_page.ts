/** A page in Chromium that looks at cameras with the published TypeScript SDK. */
import type { Browser, Page } from "playwright-core";
import { launchBrowser } from "../../shared/test_tools/browser.ts";
import { runTypescriptSdk } from "./typescript_sdk.ts";

/** What is asked of the page; it runs in the browser, so it is text. */
const PROGRAM = `
import * as sdk from "/sdk.js";
const { createRobotClient, StreamClient } = sdk;
let robot, streams;
window.connect = async (host, signalingAddress) => {
  const dial = { iceServers: [], dialTimeout: 90_000, noReconnect: true };
  robot = await createRobotClient({ host, signalingAddress, ...dial });
  streams = new StreamClient(robot);
};
// What it returns may never settle, as the channel that answers is closed.
window.disconnect = () => void robot.disconnect();
window.names = async () => (await streams.client.listStreams({})).names;
window.look = async (name) => {
  const stream = await streams.getStream(name);
  const video = document.createElement("video");
  video.id = "video-" + name;
  video.muted = true;
  video.autoplay = true;
  video.playsInline = true;
  video.srcObject = stream;
  document.body.append(video);
  const [track] = stream.getVideoTracks();
  window["track-" + name] = track;
  await video.play();
  return { id: stream.id, kind: track.kind };
};
window.remove = (name) => streams.remove(name);
window.options = async (name) => (await streams.getOptions(name)).map(({ width, height }) => [width, height]);
window.setOptions = (name, width, height) => streams.setOptions(name, width, height);
window.resetOptions = (name) => streams.resetOptions(name);
window.attempt = async (work, ...rest) => {
  try {
    await window[work](...rest);
    return "";
  } catch (error) {
    return String(error.rawMessage ?? error.message ?? error);
  }
};
const canvas = document.createElement("canvas");
canvas.width = 64;
canvas.height = 36;
const pen = canvas.getContext("2d", { willReadFrequently: true });
window.seen = (name) => {
  const video = document.getElementById("video-" + name);
  pen.drawImage(video, 0, 0, 64, 36);
  const { data } = pen.getImageData(0, 0, 64, 36);
  const corner = [...data.subarray(0, 3)];
  let sum = 0;
  for (const value of data) sum = (sum * 31 + value) % 1000003;
  return { width: video.videoWidth, height: video.videoHeight, sum, corner,
    frames: video.getVideoPlaybackQuality().totalVideoFrames };
};
window.codec = async () => {
  const found = [];
  (await robot.peerConnection.getStats()).forEach((entry) => {
    if (entry.type === "codec") found.push(entry.mimeType);
  });
  return found;
};
window.stats = async () => {
  const found = [];
  (await robot.peerConnection.getStats()).forEach((entry) => {
    if (entry.type === "inbound-rtp") found.push(entry);
  });
  return found;
};
window.muted = (name) => window["track-" + name].muted;
document.title = "ready";
`;

/** On a busy host a browser takes long for its first frame. */
const DEADLINE_MS = 90_000;

/** What a page shows of a camera. */
export interface Seen {
  readonly width: number;
  readonly height: number;
  /** Another one when other pixels are seen. */
  readonly sum: number;
  /** Red, green and blue of the first pixel. */
  readonly corner: readonly number[];
  /** Frames decoded so far. */
  readonly frames: number;
}

/** A browser with pages like that. */
export class VideoBrowser implements AsyncDisposable {
  private constructor(
    readonly origin: string,
    private readonly browser: Browser,
    private readonly server: Deno.HttpServer,
  ) {}

  /** @param example another page, at `/example` */
  static async open(example = ""): Promise<VideoBrowser> {
    const { folder } = await runTypescriptSdk<{ folder: string }>("location.mjs", []);
    const server = Deno.serve(
      { port: 0, hostname: "127.0.0.1", onListen: () => {} },
      async (request) => {
        const { pathname } = new URL(request.url);
        const type = { "content-type": "text/javascript" };
        if (pathname === "/page.js") return new Response(PROGRAM, { headers: type });
        if (pathname === "/sdk.js") {
          const text = await Deno.readTextFile(new URL("main.es.js", folder));
          return new Response(text, { headers: type });
        }
        const html = pathname === "/example"
          ? example
          : '<!doctype html><script type="module" src="/page.js"></script>';
        return new Response(html, { headers: { "content-type": "text/html" } });
      },
    );
    const browser = await launchBrowser("--autoplay-policy=no-user-gesture-required");
    return new VideoBrowser(`http://127.0.0.1:${server.addr.port}`, browser, server);
  }

  /** A page, as another person would have it. */
  async page(path = "/"): Promise<VideoPage> {
    const context = await this.browser.newContext();
    context.setDefaultTimeout(DEADLINE_MS);
    const page = await context.newPage();
    await page.goto(`${this.origin}${path}`);
    if (path === "/") await page.waitForFunction("document.title === 'ready'");
    return new VideoPage(page);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.browser.close();
    await this.server.shutdown();
  }
}

/** One person's page. */
export class VideoPage {
  constructor(readonly page: Page) {}

  /** Calls what the page offers. */
  call<T>(name: string, ...args: unknown[]): Promise<T> {
    return this.page.evaluate(
      `window[${JSON.stringify(name)}](...${JSON.stringify(args)})`,
    ) as Promise<T>;
  }

  /** Resolves when the camera's video has a condition; with what is seen then. */
  async until(camera: string, what: string, condition: (seen: Seen) => boolean): Promise<Seen> {
    const endMs = performance.now() + DEADLINE_MS;
    let seen = await this.call<Seen>("seen", camera);
    while (!condition(seen)) {
      if (performance.now() > endMs) {
        const stats = JSON.stringify(await this.call("stats"));
        throw new Error(`not seen: ${what}; seen is ${JSON.stringify(seen)} ${stats}`);
      }
      await new Promise((resolve) => setTimeout(resolve, 50));
      seen = await this.call<Seen>("seen", camera);
    }
    return seen;
  }

  close(): Promise<void> {
    return this.page.context().close();
  }
}
