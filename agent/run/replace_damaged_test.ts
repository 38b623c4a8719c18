import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { join } from "node:path";
import { FakeClock } from "../../shared/base/time/fake_clock.ts";
import { waitFor } from "../../shared/base/time/wait_for.ts";
import { memoryLogger } from "../../shared/log/memory_logger_testing.ts";
import { Watched } from "../../shared/workers/watched.ts";
import type { ServerState } from "../server/supervision/state_machine.ts";
import type { InstalledVersion } from "../state/agent_state.ts";
import { settle } from "../testing.ts";
import { replaceDamaged } from "./replace_damaged.ts";

const PROGRAM = "the bytes of a server";
const SHA256 = createHash("sha256").update(PROGRAM).digest("hex");

class Rig implements AsyncDisposable {
  readonly clock = new FakeClock();
  readonly log = memoryLogger();
  readonly state = new Watched<ServerState>({ kind: "running", failures: 0, urls: [] });
  readonly lost: string[] = [];
  readonly path: string;
  chosen: InstalledVersion | undefined;
  readonly #stop = new AbortController();
  readonly #running: Promise<void>;

  private constructor(readonly dir: string, changes: Partial<InstalledVersion>) {
    this.path = join(dir, "machine-server-1.0.0");
    const url = "https://cloud/1.0.0";
    const trusted = { version: "1.0.0", url, path: this.path, sha256: SHA256, ...changes };
    this.chosen = trusted;
    const chosen = () => this.chosen;
    this.#running = replaceDamaged({
      supervisor: this,
      update: {
        trusted,
        get chosen() {
          return chosen();
        },
        lose: (path) => Promise.resolve(void this.lost.push(path)),
      },
      cacheDir: dir,
      clock: this.clock,
      log: this.log,
    }, this.#stop.signal).catch(() => {});
  }

  static async create(changes: Partial<InstalledVersion> = {}): Promise<Rig> {
    const rig = new Rig(await Deno.makeTempDir(), changes);
    await Deno.writeTextFile(rig.path, PROGRAM);
    return rig;
  }

  async fails(failures: number): Promise<void> {
    this.state.value = { kind: "backing-off", failures };
    await settle();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort();
    await this.#running;
    await Deno.remove(this.dir, { recursive: true });
  }
}

const isThere = (path: string) => Deno.stat(path).then(() => true, () => false);

Deno.test("replaceDamaged() replaces the file of a server that fails three times", async () => {
  await using at = await Rig.create();
  await Deno.writeTextFile(at.path, "the bytes of a sErver");
  await at.fails(2);
  assert.ok(await isThere(at.path));
  await at.fails(3);
  await waitFor(() => at.lost.length > 0, { deadlineMs: 60_000 });
  assert.deepEqual(at.lost, [at.path]);
  assert.equal(await isThere(at.path), false, "the cache cannot give it again");
  assert.match(at.log.text(), /the installed machine-server is damaged; it is fetched again/);
});

Deno.test("replaceDamaged() notices that the file is gone", async () => {
  await using at = await Rig.create({ sha256: SHA256.slice(0, 12) });
  await Deno.remove(at.path);
  await at.fails(3);
  await waitFor(() => at.lost.length > 0, { deadlineMs: 60_000 });
});

Deno.test("replaceDamaged() leaves what is whole, on trial, or not of the cache", async () => {
  await using whole = await Rig.create({ sha256: SHA256.slice(0, 12) });
  await using script = await Rig.create({ url: "file:///server", sha256: "0".repeat(64) });
  await using onTrial = await Rig.create({ sha256: "0".repeat(64) });
  onTrial.chosen = { version: "1.1.0", url: "", path: "/cache/1.1.0" };
  await using foreign = await Rig.create({ path: "/bin/sh" });
  for (let failures = 3; failures < 10; failures++) {
    for (const at of [whole, script, onTrial, foreign]) {
      await at.clock.advance(60 * 60_000);
      await at.fails(failures);
    }
  }
  for (const at of [whole, script, onTrial, foreign]) {
    assert.deepEqual([at.lost, await isThere(at.path)], [[], true]);
  }
});
