import assert from "node:assert/strict";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { type FileServer, sha256Of } from "../../../shared/transfer/download/testing.ts";
import { runFaultChild } from "../../../shared/base/faults/fault_child_testing.ts";
import { programBytes, release, withRig } from "./rig_testing.ts";
import type { WantedFile } from "./wanted_file.ts";

const folderOfCode = import.meta.dirname ?? ".";
const SOURCE = `
  import { obtainOnce } from "./rig_testing.ts";
  console.log(await obtainOnce(Deno.args[0], JSON.parse(Deno.args[1])));`;
const bytes = programBytes(400_000);
const expected = `machine-server-1.0.0-${sha256Of(bytes).slice(0, 12)}`;

function run(folder: string, wanted: Partial<WantedFile>, faultPoint?: string) {
  const args = [folder, JSON.stringify(wanted)];
  return runFaultChild(SOURCE, { folder: folderOfCode, args, ...(faultPoint && { faultPoint }) });
}

const namesIn = (folder: string) => Array.from(Deno.readDirSync(folder), ({ name }) => name).sort();

/** The right file or none, whatever became of the process. */
function assertWholeOrNone(folder: string): void {
  const names = namesIn(join(folder, "cache")).filter((name) => name !== "part");
  if (names.length === 0) return;
  assert.deepEqual(names, [expected]);
  assert.deepEqual(Deno.readFileSync(join(folder, "cache", expected)), bytes);
}

function assertDone(folder: string, stdout: string): void {
  const path = join(folder, "cache", expected);
  assert.equal(stdout, `${path}\n`);
  assert.deepEqual(Deno.readFileSync(path), bytes);
  if (Deno.build.os !== "windows") assert.equal(Deno.statSync(path).mode! & 0o777, 0o755);
  assert.deepEqual(namesIn(join(folder, "cache")), [expected, "part"]);
  assert.deepEqual(namesIn(join(folder, "cache/part")), []);
}

type Kind = "release" | "address" | "file";

/** Where it dies; what the two starts ask the server for: with a known hash, and without one. */
const points: [faultPoint: string, release: RegExp, address: RegExp][] = [
  ["downloads.begun", /^all all$/, /^all all$/],
  ["download.writing", /^all rest$/, /^all all$/],
  ["download.writing#4", /^all rest$/, /^all all$/],
  ["download.complete", /^all$/, /^all all$/],
  ["downloads.checked", /^all$/, /^all all$/],
  ["downloads.executable", /^all$/, /^all all$/],
  ["downloads.synced", /^all$/, /^all all$/],
  ["downloads.renamed", /^all$/, /^all all$/],
  ["downloads.folder-synced", /^all$/, /^all all$/],
  ["downloads.recorded", /^all$/, /^all$/],
];

function wantedOf(kind: Kind, folder: string, server: FileServer): Partial<WantedFile> {
  const { version, ...known } = release(server, bytes);
  if (kind === "release") return { version, ...known };
  if (kind === "address") return { version, url: known.url };
  const source = join(folder, "build");
  Deno.writeFileSync(source, bytes);
  return { version, url: pathToFileURL(source).href };
}

for (const kind of ["release", "address"] as const) {
  for (const [faultPoint, ofRelease, ofAddress] of points) {
    Deno.test(`obtain() ends with the right file when killed at ${faultPoint}: ${kind}`, () =>
      withRig(async ({ folder, server }) => {
        const wanted = wantedOf(kind, folder, server);
        const killed = await run(folder, wanted, faultPoint);
        assert.deepEqual([killed.signal, killed.stdout], ["SIGKILL", ""], killed.stderr);
        assertWholeOrNone(folder);
        const next = await run(folder, wanted);
        assert.equal(next.code, 0, next.stderr);
        assertDone(folder, next.stdout);
        const gets = server.seen("GET").map((get) => get.includes("bytes=") ? "rest" : "all");
        assert.match(gets.join(" "), kind === "release" ? ofRelease : ofAddress);
      }));
  }
}

for (
  const faultPoint of [
    "downloads.copying",
    "downloads.copying#2",
    ...points.slice(4).map(([name]) => name),
  ]
) {
  Deno.test(`obtain() ends with the right copy when killed at ${faultPoint}`, () =>
    withRig(async ({ folder, server }) => {
      const wanted = wantedOf("file", folder, server);
      const killed = await run(folder, wanted, faultPoint);
      assert.deepEqual([killed.signal, killed.stdout], ["SIGKILL", ""], killed.stderr);
      assertWholeOrNone(folder);
      const next = await run(folder, wanted);
      assert.equal(next.code, 0, next.stderr);
      assertDone(folder, next.stdout);
    }));
}

Deno.test("obtain() takes no spoilt bytes for the release when it was killed", () =>
  withRig(async ({ folder, server }) => {
    const wanted = wantedOf("release", folder, server);
    await run(folder, wanted, "download.writing#3");
    const [part = ""] = namesIn(join(folder, "cache/part"));
    // As a power cut leaves what was not yet on the disk.
    const path = join(folder, "cache/part", part);
    Deno.writeFileSync(path, Deno.readFileSync(path).fill(0, 4_096, 8_192));
    const next = await run(folder, wanted);
    assertDone(folder, next.stdout);
  }));

Deno.test("obtain() keeps no wrong file when killed while it removes one", () =>
  withRig(async ({ folder, server }) => {
    const wanted = { ...wantedOf("release", folder, server), sha256: "0".repeat(64) };
    const killed = await run(folder, wanted, "downloads.discarded");
    assert.equal(killed.signal, "SIGKILL", killed.stderr);
    assert.deepEqual(namesIn(join(folder, "cache")), ["part"]);
    const next = await run(folder, wanted);
    assert.match(next.stdout, /^refused: the release is not the one announced/);
    const again = await run(folder, wanted);
    assert.match(again.stdout, /^refused: the release is not the one announced/);
    assert.equal(server.seen("GET").length, 2, "the second refusal is remembered");
  }));

Deno.test("clean() takes no part of a removed file for a version when killed", () =>
  withRig(async ({ folder, server }) => {
    assert.equal((await run(folder, wantedOf("release", folder, server))).code, 0);
    const other = release(server, programBytes(), "2.0.0");
    const killed = await run(folder, other, "cache.row-removed");
    assert.equal(killed.signal, "SIGKILL", killed.stderr);
    assert.equal(namesIn(join(folder, "cache")).length, 3);
    // Somebody else's unfinished work: the name is there, half of the bytes are not.
    Deno.truncateSync(join(folder, "cache", expected), 100_000);
    assertDoneAgain(folder, (await run(folder, wantedOf("release", folder, server))).stdout);
  }));

function assertDoneAgain(folder: string, stdout: string): void {
  assert.equal(stdout, `${join(folder, "cache", expected)}\n`);
  assert.deepEqual(Deno.readFileSync(join(folder, "cache", expected)), bytes);
}
