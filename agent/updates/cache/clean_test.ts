import assert from "node:assert/strict";
import { join } from "node:path";
import { withFolder } from "../../../shared/transfer/download/testing.ts";
import { memoryLogger } from "../../../shared/log/memory_logger_testing.ts";
import { FakeClock } from "../../../shared/base/time/fake_clock.ts";
import { waitFor } from "../../../shared/base/time/wait_for.ts";
import { DownloadStore } from "../downloads/download_store.ts";
import { AgentState } from "../../state/agent_state.ts";
import { CacheCleaner } from "./clean.ts";

const DAY_MS = 24 * 3_600_000;
const SHA = "0123456789ab";

interface Rig {
  clock: FakeClock;
  cacheDir: string;
  store: DownloadStore;
  log: ReturnType<typeof memoryLogger>;
  cleaner: CacheCleaner;
  /** What is in use; a test sets it. */
  kept: { paths: () => string[] };
  /** Makes a file that was used so many days ago. */
  add(name: string, daysAgo: number, withRow?: boolean): string;
  names(): string[];
}

function withRig(test: (rig: Rig) => Promise<void>): Promise<void> {
  return withFolder(async (cacheDir) => {
    const clock = new FakeClock();
    const log = memoryLogger();
    const state = AgentState.open(":memory:");
    const store = new DownloadStore(state.database);
    const kept = { paths: (): string[] => [] };
    const keep = () => kept.paths();
    const cleaner = new CacheCleaner({ cacheDir, db: state.database, keep, clock, log });
    Deno.mkdirSync(join(cacheDir, "part"));
    const add = (name: string, daysAgo: number, withRow = true) => {
      const at = new Date(clock.now().getTime() - daysAgo * DAY_MS);
      const path = join(cacheDir, name);
      Deno.writeTextFileSync(path, "x");
      Deno.utimeSync(path, at, at);
      if (!withRow) return path;
      if (name.startsWith("part/")) {
        const begun = { validator: "", totalBytes: 1 };
        store.begin(name.slice(5), { program: "machine-server", version: "1" }, begun, at);
      } else {
        const times = { addedAt: at, usedAt: at, hashedAt: at };
        const facts = { program: "machine-server", version: "1", sha256: SHA, bytes: 1 };
        store.addFile({ file: name, ...facts, identity: "", ...times });
      }
      return path;
    };
    const inside = (folder: string, prefix = "") =>
      Array.from(Deno.readDirSync(folder), ({ name }) => prefix + name);
    const names = () =>
      [...inside(cacheDir), ...inside(join(cacheDir, "part"), "part/")]
        .filter((name) => name !== "part").sort();
    try {
      await test({ clock, cacheDir, store, log, cleaner, kept, add, names });
    } finally {
      state.close();
    }
  });
}

const server = (version: string) => `machine-server-${version}-${SHA}`;
const agent = (version: string) => `machine-agent-${version}-${SHA}`;

Deno.test("clean() removes what was not used for 30 days, with its row, and nothing in use", () =>
  withRig(async ({ cleaner, kept, add, names, store }) => {
    const current = add(server("1.0.0"), 400);
    const previous = add(server("0.9.0"), 500, false);
    add(server("0.8.0"), 31);
    add(server("0.7.0"), 31, false);
    add(server("1.1.0"), 29);
    add("somebodys-file", 900, false);
    add("machine-server-without-hash", 900, false);
    kept.paths = () => [current, previous];
    await cleaner.clean();
    const left = [server("0.9.0"), server("1.0.0"), server("1.1.0")];
    assert.deepEqual(names(), [...left, "machine-server-without-hash", "somebodys-file"].sort());
    assert.deepEqual(store.files().map(({ file }) => file).sort(), left.slice(1));
  }));

Deno.test("clean() keeps the three versions of a program that were used last", () =>
  withRig(async ({ cleaner, kept, add, names }) => {
    kept.paths = () => [add(server("1"), 20)];
    for (const [index, version] of ["2", "3", "4", "5", "6"].entries()) add(server(version), index);
    for (const [index, version] of ["1", "2", "3"].entries()) add(agent(version), index + 10);
    await cleaner.clean();
    const left = [..."123"].map(agent).concat([..."1234"].map(server));
    assert.deepEqual(names(), left);
  }));

Deno.test("clean() for a full disk removes everything that is not in use", () =>
  withRig(async ({ cleaner, kept, add, names, store }) => {
    kept.paths = () => [server("1"), "part/begun.part"].map((name) => join("/elsewhere", name));
    for (const version of ["1", "2"]) add(server(version), 0);
    for (const part of ["begun", "other"]) add(`part/${part}.part`, 0);
    await cleaner.clean("all");
    assert.deepEqual(names(), [server("1"), "part/begun.part"]);
    assert.deepEqual(store.parts(), ["begun.part"]);
  }));

Deno.test("clean() removes partial files after three days, and rows without files", () =>
  withRig(async ({ cleaner, add, names, store, cacheDir }) => {
    add("part/new.part", 2.9);
    add("part/old.part", 3.1);
    add("part/unknown.part", 3.1, false);
    add("part/gone.part", 0);
    add(server("1"), 0);
    await Deno.remove(join(cacheDir, "part/gone.part"));
    await Deno.remove(join(cacheDir, server("1")));
    await cleaner.clean();
    assert.deepEqual(names(), ["part/new.part"]);
    assert.deepEqual(store.parts(), ["new.part"]);
    assert.deepEqual(store.files(), []);
  }));

Deno.test("clean() removes nothing while it is not known what is in use", () =>
  withRig(async ({ cleaner, kept, add, names, log }) => {
    add(server("1"), 100);
    kept.paths = () => {
      throw new Error("the state cannot be read");
    };
    await cleaner.clean("all");
    assert.deepEqual(names(), [server("1")]);
    assert.match(log.text(), /cannot be cleaned.*the state cannot be read/);
    kept.paths = () => [];
    await cleaner.clean("all");
    assert.deepEqual(names(), []);
  }));

Deno.test("run() cleans a quarter of an hour after the start and then once a day", () =>
  withRig(async ({ cleaner, add, names, clock }) => {
    const stop = new AbortController();
    const running = cleaner.run(stop.signal);
    for (let day = 0; day < 2; day++) {
      const untilNextMs = day === 0 ? 15 * 60_000 : DAY_MS;
      add(server("1"), 100);
      await clock.advance(untilNextMs - 1);
      assert.deepEqual(names(), [server("1")]);
      await clock.advance(1);
      await waitFor(() => names().length === 0, { deadlineMs: 60_000 });
      await waitFor(() => clock.pendingTimers === 1, { deadlineMs: 60_000 });
    }
    stop.abort();
    await running;
  }));

Deno.test("cleanSoon() has run() clean in the background, also right after the start", () =>
  withRig(async ({ cleaner, clock, add, names }) => {
    const stop = new AbortController();
    const running = cleaner.run(stop.signal);
    const cleaned = async () => {
      await waitFor(() => names().length === 0, { deadlineMs: 60_000 });
      await waitFor(() => clock.pendingTimers === 1, { deadlineMs: 60_000 });
    };
    add(server("0.1.0"), 40);
    cleaner.cleanSoon();
    assert.deepEqual(names(), [server("0.1.0")], "who asks does not wait for it");
    await cleaned();
    add(server("0.2.0"), 40);
    await clock.advance(DAY_MS - 1);
    assert.deepEqual(names(), [server("0.2.0")]);
    await clock.advance(1);
    await cleaned();
    add(server("0.3.0"), 40);
    cleaner.cleanSoon();
    await cleaned();
    stop.abort();
    await running;
  }));
