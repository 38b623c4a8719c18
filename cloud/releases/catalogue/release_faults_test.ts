import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { join } from "node:path";
import { runFaultChild } from "../../../shared/base/faults/fault_child_testing.ts";
import { noSmallDisks, withSmallDisk } from "../../../shared/test_tools/small_disk.ts";
import { memoryLogger } from "../../../shared/log/memory_logger_testing.ts";
import { verifyRelease } from "../../../shared/transfer/releases/manifest.ts";
import { systemClock } from "../../../shared/base/time/clock.ts";
import { waitFor } from "../../../shared/base/time/wait_for.ts";
import { openDataFolder } from "../../storage/data_folder/data_folder.ts";
import { systemRandom } from "../../storage/keys/random.ts";
import { openReleases } from "./open_releases.ts";

const FOLDER = import.meta.dirname ?? ".";
const HOUR_MS = 60 * 60_000;
const CONTENTS = new TextEncoder().encode("#!/bin/sh\necho a program of more than twenty bytes\n");
const NEW = {
  program: "machine-server",
  version: "1.0.0",
  platform: "linux/amd64",
  channel: undefined,
  notes: "",
  rollout: undefined,
  sha256: "",
} as const;

/** Adds a release to the folder in the first argument, in pieces, and says so. */
const ADD = `
  import { openDataFolder } from "../../storage/data_folder/data_folder.ts";
  import { systemRandom } from "../../storage/keys/random.ts";
  import { systemClock } from "../../../shared/base/time/clock.ts";
  import { openReleases } from "./open_releases.ts";
  const [dataDir] = Deno.args;
  const { database } = await openDataFolder(dataDir, systemRandom);
  const options = { database, dataDir, clock: systemClock, random: systemRandom, limitBytes: 5000 };
  const { store } = await openReleases(options);
  const bytes = new Uint8Array(${JSON.stringify([...CONTENTS])});
  async function* pieces() { for (let at = 0; at < bytes.length; at += 10) yield bytes.subarray(at, at + 10); }
  await store.add(${JSON.stringify(NEW)}, pieces(), { type: "api-key", id: "test" });
  console.log("added");`;

async function inFolder(work: (folder: string) => Promise<void>) {
  const folder = await Deno.makeTempDir({ prefix: "machine-cloud-release-faults-" });
  try {
    await work(folder);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

async function open(dataDir: string) {
  const { database } = await openDataFolder(dataDir, systemRandom);
  const releases = await openReleases({
    database,
    dataDir,
    clock: systemClock,
    random: systemRandom,
    limitBytes: 5_000,
  });
  return { ...releases, database, [Symbol.dispose]: () => database.close() };
}

async function* pieces() {
  yield await Promise.resolve(CONTENTS);
}

const filesIn = (folder: string) =>
  ["releases", "releases/incoming"].flatMap((name) =>
    [...Deno.readDirSync(join(folder, name))].filter((entry) => entry.isFile)
  ).length;

const POINTS: readonly (readonly [point: string, isThere: boolean])[] = [
  ["packages.blob.writing#2", false],
  ["packages.blob.before-rename", false],
  ["packages.blob.after-rename", false],
  ["files.write.before-rename", false],
  ["files.write.after-rename", false],
  ["releases.key.after-write", false],
  ["releases.add.before-commit", false],
  ["releases.add.after-commit", true],
];

for (const [point, isThere] of POINTS) {
  Deno.test(`a release is there ${isThere ? "whole" : "not at all"} when it is killed at ${point}`, () =>
    inFolder(async (folder) => {
      const child = await runFaultChild(ADD, {
        folder: FOLDER,
        isLarge: true,
        faultPoint: point,
        args: [folder],
      });
      assert.equal(child.signal, "SIGKILL", child.stderr);
      assert.equal(child.stdout, "");
      using at = await open(folder);
      const { releases } = await at.catalogue.read();
      assert.equal(releases.length, isThere ? 1 : 0);

      const release = await at.store.add(NEW, pieces(), { type: "api-key", id: "test" });
      const [file] = release.files;
      const [key, ...others] = (await at.catalogue.read()).keys;
      assert.ok(file && key);
      assert.deepEqual(others, [], "a second key would lock machines out");
      const sha256 = createHash("sha256").update(CONTENTS).digest("hex");
      const manifest = {
        binary: "machine-server",
        version: "1.0.0",
        platform: "linux/amd64",
        size: CONTENTS.length,
        sha256,
      };
      const signature = Uint8Array.fromBase64(file.signature);
      assert.ok(await verifyRelease(key.publicKey, manifest, signature));
      const stored = await at.blobs.read(file.id);
      assert.equal(await new Response(stored?.readable).text(), new TextDecoder().decode(CONTENTS));
      const isKnown = (id: string) => Promise.resolve(id === file.id);
      await at.blobs.sweep(isKnown, new Date(Date.now() + 2 * HOUR_MS));
      assert.equal(filesIn(folder), 1);
    }));
}

Deno.test("rotating leaves a key that signs, when it is killed between file and database", () =>
  inFolder(async (folder) => {
    const before = await open(folder);
    const first = await before.keys.signing();
    before.database.close();
    const source = ADD.replace(/await store\.add.*/, "await keys.rotate();")
      .replace("const { store }", "const { keys }");
    const child = await runFaultChild(source, {
      folder: FOLDER,
      faultPoint: "releases.key.after-write",
      args: [folder],
    });
    assert.equal(child.signal, "SIGKILL", child.stderr);
    using after = await open(folder);
    assert.equal((await after.keys.signing()).id, first.id);
    const second = await after.keys.rotate();
    const keys = await after.keys.list();
    assert.deepEqual(keys.map(({ id, signedBy }) => [id, signedBy]), [
      [first.id, ""],
      [second.id, first.id],
    ]);
    assert.equal((await after.keys.signing()).id, second.id);
  }));

Deno.test("ReleaseStore.add() says that the disk is full and leaves nothing", {
  ignore: noSmallDisks(import.meta.url),
}, () =>
  inFolder(async (folder) => {
    const { database } = await openDataFolder(folder, systemRandom);
    try {
      const blobs = join(folder, "releases");
      await Deno.mkdir(blobs);
      await withSmallDisk(blobs, 64, async () => {
        const { store, catalogue } = await openReleases({
          database,
          dataDir: folder,
          clock: systemClock,
          random: systemRandom,
          limitBytes: 1_000_000,
        });
        async function* much() {
          for (let at = 0; at < 100; at++) yield await Promise.resolve(new Uint8Array(4_096));
        }
        await assert.rejects(
          store.add(NEW, much(), { type: "api-key", id: "test" }),
          /the cloud's disk is full; nothing was saved/,
        );
        assert.deepEqual((await catalogue.read()).releases, []);
        assert.equal(filesIn(folder), 0);
      });
    } finally {
      database.close();
    }
  }));

Deno.test("the releases' folder is swept of what nobody names", () =>
  inFolder(async (folder) => {
    using at = await open(folder);
    const { files: [file] } = await at.store.add(NEW, pieces(), { type: "api-key", id: "test" });
    const orphan = crypto.randomUUID();
    for (const id of [file?.id ?? "", orphan]) {
      const path = join(folder, "releases", id);
      await Deno.writeTextFile(path, "x");
      await Deno.utime(path, new Date(0), new Date(0));
    }
    const stop = new AbortController();
    const sweeping = at.store.keepSwept({
      ...{ clock: systemClock, log: memoryLogger(), signal: stop.signal },
    });
    await waitFor(() => filesIn(folder) === 1, { deadlineMs: 60_000, what: "a swept folder" });
    stop.abort();
    await sweeping;
    assert.ok(await Deno.stat(join(folder, "releases", file?.id ?? "")));
  }));
