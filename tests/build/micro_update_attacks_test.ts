// Servers that give a compiled machine-micro-server bad updates, and kills while it takes good ones.
// Compiling takes minutes, so `make smoke` runs it.
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { join } from "node:path";
import { ignoreBecause } from "../../shared/test_tools/skips.ts";
import { buildMicro } from "../../tools/micro/build.ts";
import { noSourcesBecause } from "../../tools/micro/sources.ts";
import { ownTarget } from "../../tools/micro/targets.ts";
import { findZig } from "../../tools/micro/zig.ts";
import { ROOT } from "../../tools/programs.ts";
import { Program } from "../e2e/program.ts";
import { eventually, type Rig, rigTest } from "../e2e/rig.ts";
import { isSettled } from "./micro_updates.ts";

const DEADLINE_MS = 180_000;
const KILLS = 12;

const ignore = ignoreBecause(import.meta.url, await noSourcesBecause());

async function build(version: string): Promise<string> {
  const options = { root: ROOT, zig: await findZig(ROOT), version, commit: "0123456" };
  const output = join(ROOT, ".tools/micro/update-tests", version);
  return (await buildMicro(ownTarget(), { ...options, output })).file;
}

/** What a server says to a request: pieces; it closes after the last one, or stays silent. */
interface Answer {
  readonly pieces: readonly (string | Uint8Array)[];
  readonly staysOpen?: boolean;
  /** Sends the last piece again and again. */
  readonly endless?: boolean;
}

const sized = (image: Uint8Array, size: number | string = image.length): Answer => ({
  pieces: [`HTTP/1.1 200 OK\r\ncontent-length: ${size}\r\n\r\n`, image],
});

/** A server that answers each path as the test says. */
class HostileServer implements AsyncDisposable {
  readonly #listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  readonly #open = new Set<Deno.Conn>();
  readonly answers = new Map<string, Answer>();
  /** Bytes that were sent of images. */
  sent = 0;
  readonly #served = this.#serve();

  get url(): string {
    return `http://127.0.0.1:${(this.#listener.addr as Deno.NetAddr).port}`;
  }

  async #serve(): Promise<void> {
    for await (const connection of this.#listener) {
      this.#open.add(connection);
      void this.#answer(connection).catch(() => undefined);
    }
  }

  async #answer(connection: Deno.Conn): Promise<void> {
    const bytes = new Uint8Array(8192);
    const read = await connection.read(bytes) ?? 0;
    const head = new TextDecoder().decode(bytes.subarray(0, read));
    const answer = this.answers.get(head.match(/^GET \/(\S+)/)?.[1] ?? "");
    const pieces = (answer?.pieces ?? ["HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\n\r\n"])
      .map((piece) => typeof piece === "string" ? new TextEncoder().encode(piece) : piece);
    for (const piece of pieces) await this.#send(connection, piece);
    while (answer?.endless) await this.#send(connection, pieces.at(-1) ?? new Uint8Array(1));
    if (!answer?.staysOpen) this.#close(connection);
  }

  async #send(connection: Deno.Conn, bytes: Uint8Array): Promise<void> {
    for (let at = 0; at < bytes.length;) {
      const wrote = await connection.write(bytes.subarray(at, at + 16_384));
      at += wrote;
      this.sent += wrote;
    }
  }

  #close(connection: Deno.Conn): void {
    if (!this.#open.delete(connection)) return;
    connection.close();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#listener.close();
    for (const connection of this.#open) this.#close(connection);
    await this.#served;
  }
}

function startMicro(rig: Rig, command: string): Program {
  const micro = Program.start({
    name: "machine-micro-server",
    command,
    args: [
      ...["-config", rig.credentialsFile, "-state", join(rig.dir, "micro")],
      ...["-listen", "127.0.0.1:0"],
    ],
  });
  rig.programs.push(micro);
  return micro;
}

const update = (server: HostileServer, path: string, version: string, image: Uint8Array) => ({
  name: "firmware",
  api: "rdk:service:generic",
  model: "rdk:builtin:ota_service",
  attributes: {
    ...{ url: `${server.url}/${path}`, version },
    sha256: createHash("sha256").update(image).digest("hex"),
  },
});

const COMPONENTS = [{ name: "one", api: "rdk:component:sensor", model: "rdk:builtin:fake" }];

/** An ELF program for a processor that no computer of today has. */
function foreignImage(image: Uint8Array): Uint8Array {
  const foreign = image.slice();
  foreign.set([2, 0], 18); // e_machine: SPARC
  return foreign;
}

rigTest("servers with bad images change nothing, and the next good one is taken", async (rig) => {
  const good = await Deno.readFile(await build("1.1.0"));
  const installed = join(rig.dir, "installed");
  await Deno.copyFile(await build("1.0.0"), installed);
  await using server = new HostileServer();
  await rig.startCloud();
  await rig.saveConfig({ components: COMPONENTS });
  const micro = startMicro(rig, installed);
  await micro.waitForLine(/applied revision/, DEADLINE_MS);
  const noise = Uint8Array.from({ length: 300_000 }, (_, i) => i * i * 31 >> 3 & 255);
  const cases: readonly (readonly [string, Answer, RegExp])[] = [
    ["empty", sized(new Uint8Array(0)), /image of 0 bytes is not taken/],
    ["huge", sized(good, 9_999_999_999), /image of 9999999999 bytes is not taken/],
    ["negative", sized(good, "-5"), /no update/],
    ["unknown-size", { pieces: ["HTTP/1.1 200 OK\r\n\r\n", good] }, /image of NaN bytes/],
    ["two-sizes", sized(good, "5, 6"), /no update/],
    ["other-hash", sized(noise), /another hash than attributes.sha256/],
    ["longer", { ...sized(noise, 1000), endless: true }, /another hash than attributes.sha256/],
    [
      "cut",
      { pieces: sized(good).pieces.with(1, good.subarray(0, 50_000)) },
      /tried again in 5 min/,
    ],
    [
      "elsewhere",
      {
        pieces: [`HTTP/1.1 302 Found\r\nlocation: ${server.url}/good\r\ncontent-length: 0\r\n\r\n`],
      },
      /answered with status 302; it is tried again/,
    ],
    [
      "headers",
      { pieces: ["HTTP/1.1 200 OK\r\n", `a: ${"b".repeat(1000)}\r\n`], endless: true },
      /no update: .*(headers|head|large)/i,
    ],
    ["no-http", { pieces: [noise] }, /no update/],
    ["noise.tar.gz", sized(noise), /no update: the archive is damaged/],
    [
      "stalls",
      { pieces: sized(good).pieces.with(1, good.subarray(0, 1000)), staysOpen: true },
      /downloads/,
    ],
  ];
  server.answers.set("good", sized(good));
  for (const [i, [path, answer, expected]] of cases.entries()) {
    server.answers.set(path, answer);
    const version = `2.0.${i}`;
    await rig.saveConfig({
      components: COMPONENTS,
      services: [update(server, path, version, good)],
    });
    await micro.waitForLine(new RegExp(`downloads ${version.replaceAll(".", "\\.")}`), DEADLINE_MS);
    const from = micro.lines.findLastIndex((line) => line.includes(`downloads ${version}`));
    await eventually(
      `${path}: ${expected}`,
      () => Promise.resolve(micro.lines.slice(from).some((line) => expected.test(line))),
      DEADLINE_MS,
    );
    assert.ok(!micro.hasExited, path);
  }

  // Not for this processor: it does not start, and the one before it runs at once.
  const foreign = foreignImage(good);
  server.answers.set("foreign", sized(foreign));
  await rig.saveConfig({
    components: COMPONENTS,
    services: [update(server, "foreign", "3.0.0", foreign)],
  });
  await micro.waitForLine(/does not start: the one before runs again/, DEADLINE_MS);
  await micro.waitForLine(/3\.0\.0 was tried and rolled back/, DEADLINE_MS);

  await rig.saveConfig({
    components: COMPONENTS,
    services: [update(server, "good", "1.1.0", good)],
  });
  await micro.waitForLine(/1\.1\.0 is confirmed/, DEADLINE_MS);
  await eventually("online", async () => (await rig.liveStatus()).online);
}, { ignore });

rigTest(`an update through ${KILLS} kills leaves the last or the new program`, async (rig) => {
  const good = await Deno.readFile(await build("1.1.0"));
  const installed = join(rig.dir, "installed");
  await Deno.copyFile(await build("1.0.0"), installed);
  await using server = new HostileServer();
  server.answers.set("good", sized(good));
  await rig.startCloud();
  await rig.saveConfig({
    components: COMPONENTS,
    services: [update(server, "good", "1.1.0", good)],
  });
  for (let kill = 0; kill < KILLS; kill++) {
    const before = server.sent;
    const micro = startMicro(rig, installed);
    const [line] = await micro.waitForLine(/machine-micro-server 1\.[01]\.0/, DEADLINE_MS);
    // Another share of the image each time; the new one runs at some time, and asks for none.
    const share = kill * good.length / KILLS;
    await eventually("a part of the image", () =>
      Promise.resolve(
        line.includes("1.1.0") || server.sent - before > share ||
          micro.lines.some((each) => /1\.1\.0 (is|was) /.test(each)),
      ), DEADLINE_MS);
    micro.signal("SIGKILL");
    await micro.exited;
  }
  const micro = startMicro(rig, installed);
  await eventually(
    "1.1.0 is confirmed or rolled back",
    () => Promise.resolve(isSettled(micro.lines, "1.1.0")),
    DEADLINE_MS,
  );
  await eventually("online", async () => (await rig.liveStatus()).online);
}, { ignore });
