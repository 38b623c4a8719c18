import assert from "node:assert/strict";
import { memoryLogger } from "../../../shared/log/memory_logger_testing.ts";
import { FakeClock } from "../../../shared/base/time/fake_clock.ts";
import type { LivenessState } from "../../storage/database/trigger_schema.ts";
import { Presence } from "../../fleet/presence/presence.ts";
import { TestCloud } from "../../serve/cloud_testing.ts";
import { Liveness } from "./liveness.ts";

/** A cloud that starts again and again over one database, and what its triggers receive. */
class Rig implements AsyncDisposable {
  readonly heard: LivenessState[] = [];
  presence!: Presence;
  liveness!: Liveness;

  private constructor(
    private readonly cloud: TestCloud,
    readonly partId: string,
    readonly clock: FakeClock,
  ) {}

  static async open(): Promise<Rig> {
    const clock = new FakeClock();
    const cloud = await TestCloud.open({ clock });
    const { part_id } = await cloud.bootstrap();
    const rig = new Rig(cloud, part_id, clock);
    await rig.start();
    return rig;
  }

  /** The cloud starts; it knows what was written before. */
  async start(): Promise<void> {
    const { queries } = this.cloud.folder.database;
    this.presence = new Presence(queries, this.clock, memoryLogger());
    await this.presence.load();
    this.liveness = new Liveness({
      queries,
      presence: this.presence,
      triggers: {
        transition: (_transaction, _partId, state) => {
          this.heard.push(state);
          return Promise.resolve();
        },
        committed: () => {},
      },
      clock: this.clock,
      log: memoryLogger(),
    });
    await this.liveness.load();
  }

  /** The cloud ends and is away for a time. */
  async end(awayMs: number): Promise<void> {
    await this.presence.write();
    this.clock.setNow(this.clock.now().getTime() + awayMs);
  }

  /** Time passes while the cloud looks each second. */
  async pass(seconds: number, each: () => void = () => {}): Promise<void> {
    for (let second = 0; second < seconds; second++) {
      each();
      await this.liveness.look();
      await this.clock.advance(1_000);
    }
    await this.liveness.look();
  }

  seen = (): void => this.presence.seen(this.partId);

  async [Symbol.asyncDispose](): Promise<void> {
    await this.cloud[Symbol.asyncDispose]();
  }
}

Deno.test("Liveness tells each transition once", async () => {
  await using rig = await Rig.open();
  await rig.pass(5);
  assert.deepEqual(rig.heard, [], "a part that never called is neither");
  await rig.pass(100, rig.seen);
  assert.deepEqual(rig.heard, ["online"]);
  await rig.pass(58);
  assert.deepEqual(rig.heard, ["online"]);
  await rig.pass(100);
  assert.deepEqual(rig.heard, ["online", "offline"]);
  await rig.pass(10, rig.seen);
  assert.deepEqual(rig.heard, ["online", "offline", "online"]);
});

Deno.test("Liveness takes an open stream for a sign of life, and its end for the last one", async () => {
  await using rig = await Rig.open();
  const gone = rig.presence.opened(rig.partId);
  await rig.pass(300);
  gone();
  await rig.pass(59);
  assert.deepEqual(rig.heard, ["online"]);
  await rig.pass(2);
  assert.deepEqual(rig.heard, ["online", "offline"]);
});

Deno.test("Liveness tells nothing when the cloud restarts and the machine comes back", async () => {
  await using rig = await Rig.open();
  await rig.pass(5, rig.seen);
  for (const awayMs of [1_000, 60_000, 3_600_000]) {
    await rig.end(awayMs);
    await rig.start();
    await rig.pass(55);
    await rig.pass(70, rig.seen);
  }
  assert.deepEqual(rig.heard, ["online"]);
});

Deno.test("Liveness tells once what happened while the cloud was down", async () => {
  await using rig = await Rig.open();
  await rig.pass(5, rig.seen);
  await rig.end(3_600_000);
  await rig.start();
  await rig.pass(59);
  assert.deepEqual(rig.heard, ["online"], "the machine has its time to come back");
  await rig.pass(30);
  assert.deepEqual(rig.heard, ["online", "offline"]);
  await rig.end(3_600_000);
  await rig.start();
  await rig.pass(120);
  assert.deepEqual(rig.heard, ["online", "offline"]);
  await rig.end(3_600_000);
  await rig.start();
  await rig.pass(1, rig.seen);
  assert.deepEqual(rig.heard, ["online", "offline", "online"]);
});

Deno.test("Liveness is not fooled by a clock that is set", async () => {
  await using rig = await Rig.open();
  await rig.pass(5, rig.seen);
  for (const jumpMs of [86_400_000, -2 * 86_400_000]) {
    rig.clock.setNow(rig.clock.now().getTime() + jumpMs);
    await rig.pass(30);
    await rig.pass(5, rig.seen);
  }
  assert.deepEqual(rig.heard, ["online"]);
});

Deno.test("Liveness takes its own stall for no absence, and does not wake the dead by it", async () => {
  await using rig = await Rig.open();
  await rig.pass(5, rig.seen);
  await rig.clock.advance(120_000);
  await rig.pass(30);
  assert.deepEqual(rig.heard, ["online"]);
  await rig.pass(31);
  assert.deepEqual(rig.heard, ["online", "offline"]);
  await rig.clock.advance(120_000);
  await rig.pass(30);
  assert.deepEqual(rig.heard, ["online", "offline"]);
});

Deno.test("Liveness forgets a part that is deleted", async () => {
  await using rig = await Rig.open();
  await rig.pass(5, () => rig.presence.seen("a part that is not there"));
  assert.deepEqual(rig.heard, []);
});
