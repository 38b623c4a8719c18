// deno run -A tools/screenshots/main.ts [NAME…]   takes the images in docs/console/, of a demo of its own
import { Buffer } from "node:buffer";
import { join } from "node:path";
import process from "node:process";
import type { Page } from "playwright-core";
import { systemProcesses } from "../../shared/base/process/system_processes.ts";
import { launchBrowser } from "../../shared/test_tools/browser.ts";
import { ROOT } from "../programs.ts";
import { signIn } from "../run/cloud_api.ts";
import { type Bootstrapped, Demo } from "../run/demo.ts";
import { parseRunOptions } from "../run/options.ts";
import { fillIn } from "./sample_data.ts";
import { startTraining } from "./sample_training.ts";

const FOLDER = join(ROOT, "docs", "console");
const SIZE = { width: 1180, height: 740 };
const WAIT_MS = 60_000;

/** The demo, with the id of its training. */
type Made = Bootstrapped & { readonly training: string };

type Role = Parameters<Page["getByRole"]>[0];

/** A page, and what is there when it may be taken. */
interface Shot {
  readonly path: (made: Made) => string;
  readonly ready: (page: Page) => Promise<void>;
  /** It is taken by somebody who is not signed in. */
  readonly isSignedOut?: true;
}

const machine = (tab: string) => ({ machine_id: id }: Made) => `/machines/${id}${tab}`;
const text = (wanted: string) => (page: Page) => page.getByText(wanted).first().waitFor();

const named = (role: Role, name?: string) => (page: Page) =>
  page.getByRole(role, { ...(name !== undefined && { name }) }).first().waitFor();

const QUERY = `SELECT time_received, component_name,
  data ->> '$.readings.temperature' AS temperature
FROM readings
WHERE component_name = 'climate'
ORDER BY received_us DESC
LIMIT 50`;

const SHOTS: Readonly<Record<string, Shot>> = {
  "sign-in": { path: () => "/", ready: text("Forgotten your password?"), isSignedOut: true },
  fleet: { path: () => "/", ready: text("press-1") },
  map: { path: () => "/?view=map", ready: text("4 machines in this part") },
  "new-machine": { path: () => "/new-machine", ready: text("New machine") },
  overview: { path: machine(""), ready: text("It is well.") },
  configure: {
    path: machine("/configure"),
    ready: (page) => page.getByText("greenhouse").first().waitFor(),
  },
  graph: { path: machine("/configure?view=graph"), ready: named("group", "Graph") },
  json: { path: machine("/configure?view=json"), ready: text("greenhouse") },
  history: {
    path: machine("/configure?view=history"),
    async ready(page) {
      await page.getByRole("button", { name: /^2\b.*Compare/ }).click();
      await page.getByText("triggers").first().waitFor();
    },
  },
  control: {
    path: machine("/control"),
    async ready(page) {
      await page.getByText("Connected directly").waitFor();
      await page.getByText(/^\d+ × \d+$/).waitFor();
    },
  },
  frames: {
    path: machine("/control"),
    async ready(page) {
      await page.getByText("Frames in space").click();
      await page.getByRole("application", { name: /frames? in space/ }).waitFor();
    },
  },
  // Lines of the agent hold paths of the host.
  logs: { path: machine("/logs?source=rdk"), ready: text("configuration applied") },
  health: {
    path: machine("/health"),
    ready: (page) => page.getByRole("img", { name: /^CPU: [\d.]+ % to/ }).waitFor(),
  },
  settings: { path: machine("/settings"), ready: text("Restart") },
  readings: {
    path: () => "/data?range=hour&resource=rdk%3Acomponent%3Asensor%2Fclimate",
    ready: (page) => page.getByRole("img", { name: /^temperature/ }).waitFor(),
  },
  picture: {
    path: () => "/data?tab=pictures&tag=good",
    async ready(page) {
      await page.locator("ul.grid button").first().click();
      await page.getByRole("dialog").locator("img").waitFor();
      await page.getByRole("dialog").getByText("good", { exact: true }).waitFor();
    },
  },
  datasets: { path: () => "/data?tab=datasets", ready: text("belt") },
  query: {
    path: () => `/data?tab=query&q=${encodeURIComponent(QUERY)}`,
    async ready(page) {
      await page.getByRole("button", { name: "Run" }).click();
      await page.getByRole("table").getByText("climate").first().waitFor();
    },
  },
  triggers: { path: () => "/triggers", ready: text("machine is offline") },
  training: {
    path: ({ training }) => `/training/${training}`,
    async ready(page) {
      await page.getByText("completed").first().waitFor({ timeout: 300_000 });
      await page.getByRole("img", { name: /^Loss over 24 values/ }).waitFor();
    },
  },
  registry: {
    path: ({ org_id }) => `/registry/${encodeURIComponent(`${org_id}:weather`)}`,
    ready: text("press-2"),
  },
  releases: { path: () => "/releases", ready: text("Who runs what") },
  organization: { path: () => "/organization", ready: text("owner@localhost") },
  roles: {
    path: () => "/organization",
    async ready(page) {
      const roles = page.getByRole("heading", { name: "Roles", exact: true });
      await roles.waitFor();
      await roles.scrollIntoViewIfNeeded();
    },
  },
  keys: { path: () => "/organization?tab=keys", ready: text("Rotate") },
  locations: { path: () => "/organization?tab=locations", ready: text("Hall 2") },
  fragments: { path: () => "/organization?tab=fragments", ready: text("greenhouse-base") },
  notifications: {
    path: () => "/organization?tab=notifications",
    ready: named("heading", "Mail"),
  },
  use: { path: () => "/organization?tab=use", ready: text("In all") },
  audit: { path: () => "/organization?tab=audit", ready: text("AppService/") },
  account: { path: () => "/account", ready: text("this browser") },
};

async function main(): Promise<void> {
  const wanted = Deno.args.length > 0 ? Deno.args : Object.keys(SHOTS);
  const dataDir = await Deno.makeTempDir({ prefix: "machine-screenshots-" });
  const options = { ...parseRunOptions([], Deno.env, ROOT), dataDir };
  const demo = new Demo(options, ROOT, systemProcesses());
  const report = (line: string) => void process.stderr.write(`${line}\n`);
  try {
    const made = await demo.start(report);
    await demo.waitForReading(made);
    const cloud = await signIn(demo.cloudUrl, { id: made.api_key_id, key: made.api_key });
    const part = { id: made.part_id, key: made.part_secret, type: "robot-secret" as const };
    await fillIn({ made, cloud, machine: await signIn(demo.cloudUrl, part) });
    const training = wanted.includes("training")
      ? await startTraining(made, cloud, { url: demo.cloudUrl, folder: dataDir })
      : "";
    await Deno.mkdir(FOLDER, { recursive: true });
    await using browser = await launchBrowser();
    const open = async () => {
      const context = await browser.newContext({ viewport: SIZE, reducedMotion: "reduce" });
      const page = await context.newPage();
      page.setDefaultTimeout(WAIT_MS);
      return page;
    };
    const stranger = await open();
    const signedIn = await open();
    await signedIn.goto(made.owner_sign_in_url);
    await signedIn.getByRole("link", { name: "Fleet" }).waitFor();
    for (const name of wanted) {
      const shot = SHOTS[name];
      if (!shot) throw new Error(`no page is called ${name}; there is ${Object.keys(SHOTS)}`);
      const page = shot.isSignedOut ? stranger : signedIn;
      await page.goto(demo.cloudUrl + shot.path({ ...made, training }));
      await shot.ready(page);
      await page.waitForLoadState();
      for (const scheme of ["light", "dark"] as const) {
        await page.emulateMedia({ colorScheme: scheme });
        // Plots draw themselves again in the frame after the change.
        await page.evaluate(
          "new Promise((go) => requestAnimationFrame(() => requestAnimationFrame(go)))",
        );
        const file = join(FOLDER, `${name}-${scheme}.webp`);
        await Deno.writeFile(file, await webp(page));
        report(file);
      }
    }
  } finally {
    await demo.stop();
    await Deno.remove(dataDir, { recursive: true });
  }
}

/** What is seen, as WebP, which Playwright does not write itself. */
async function webp(page: Page): Promise<Uint8Array> {
  const cdp = await page.context().newCDPSession(page);
  try {
    const { data } = await cdp.send("Page.captureScreenshot", { format: "webp", quality: 82 });
    return Buffer.from(data, "base64");
  } finally {
    await cdp.detach();
  }
}

await main();
