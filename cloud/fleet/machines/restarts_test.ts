import assert from "node:assert/strict";
import { RobotService } from "../../../shared/gen/viam/app/v1/robot_pb.ts";
import { MachineService } from "../../../shared/gen/machine/cloud/v1/machine_pb.ts";
import { FakeClock } from "../../../shared/base/time/fake_clock.ts";
import { partSecret, TestCloud } from "../../serve/cloud_testing.ts";
import { Restarts } from "./restarts.ts";

/** A machine of a cloud, and somebody who requests its restart. */
class Machine implements AsyncDisposable {
  private constructor(
    readonly clock: FakeClock,
    private readonly cloud: TestCloud,
    private readonly made: Awaited<ReturnType<TestCloud["bootstrap"]>>,
  ) {}

  static async open(): Promise<Machine> {
    const clock = new FakeClock();
    const cloud = await TestCloud.open({ clock });
    const machine = new Machine(clock, cloud, await cloud.bootstrap());
    await machine.fetchConfig();
    await clock.advance(1_000);
    return machine;
  }

  async requestRestart(): Promise<void> {
    await this.cloud.app(this.made).markPartForRestart({ partId: this.made.part_id });
  }

  async mustRestart(): Promise<boolean> {
    return (await this.#robot.needsRestart({ id: this.made.part_id })).mustRestart;
  }

  /** Asks every 5 seconds, as agents do; gives the seconds at which the answer was yes. */
  async toldAt(forSeconds: number): Promise<number[]> {
    const told: number[] = [];
    for (let second = 0; second <= forSeconds; second += 5) {
      if (await this.mustRestart()) told.push(second);
      await this.clock.advance(5_000);
    }
    return told;
  }

  async fetchConfig(): Promise<void> {
    await this.#robot.config({ id: this.made.part_id });
  }

  async openStream(): Promise<void> {
    const service = this.cloud.client(MachineService, partSecret(this.made));
    for await (const _ of service.watch({ partId: this.made.part_id })) break;
  }

  /** What comes is from a new process. */
  async startAgain(): Promise<void> {
    await this.clock.advance(1_000);
    this.cloud.forgetTokens();
  }

  get #robot() {
    return this.cloud.client(RobotService, partSecret(this.made));
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.cloud[Symbol.asyncDispose]();
  }
}

Deno.test("NeedsRestart() says no when nobody asked for a restart", async () => {
  await using machine = await Machine.open();
  assert.deepEqual(await machine.toldAt(60), []);
});

Deno.test("NeedsRestart() says yes every 30 seconds for 2 minutes when no start is seen", async () => {
  await using machine = await Machine.open();
  await machine.requestRestart();
  assert.deepEqual(await machine.toldAt(300), [0, 30, 60, 90]);
});

Deno.test("NeedsRestart() says yes again when the running server only goes on", async () => {
  await using machine = await Machine.open();
  await machine.requestRestart();
  assert.equal(await machine.mustRestart(), true);
  await machine.fetchConfig();
  await machine.openStream();
  await machine.clock.advance(30_000);
  assert.equal(await machine.mustRestart(), true);
});

Deno.test("NeedsRestart() says yes once when the server then fetches its configuration anew", async () => {
  await using machine = await Machine.open();
  await machine.requestRestart();
  assert.equal(await machine.mustRestart(), true);
  await machine.startAgain();
  await machine.fetchConfig();
  assert.deepEqual(await machine.toldAt(300), []);
});

Deno.test("NeedsRestart() says yes when a server that was not told asks for a token", async () => {
  await using machine = await Machine.open();
  await machine.requestRestart();
  await machine.startAgain();
  await machine.fetchConfig();
  assert.equal(await machine.mustRestart(), true);
});

Deno.test("NeedsRestart() says no when the stream told the server, which has restarted", async () => {
  await using machine = await Machine.open();
  await machine.requestRestart();
  await machine.startAgain();
  await machine.openStream();
  assert.deepEqual(await machine.toldAt(300), []);
});

Deno.test("NeedsRestart() says yes at once when a restart is asked for again", async () => {
  await using machine = await Machine.open();
  for (let time = 0; time < 2; time++) {
    await machine.requestRestart();
    assert.equal(await machine.mustRestart(), true);
    assert.equal(await machine.mustRestart(), false);
  }
});

Deno.test("Restarts says no to a call that read the part before its start was seen", async () => {
  const clock = new FakeClock();
  await using cloud = await TestCloud.open({ clock });
  const { part_id: id } = await cloud.bootstrap();
  const { queries } = cloud.folder.database;
  const restarts = new Restarts(queries, cloud.services.changes, clock);
  const read = () =>
    queries.selectFrom("parts").selectAll().where("id", "=", id).executeTakeFirstOrThrow();
  await restarts.request(await read());
  const before = await read();
  assert.equal(await restarts.mustRestart(before), true);
  await clock.advance(40_000);
  await restarts.fetched(before, clock.now().getTime());
  assert.equal(await restarts.mustRestart(before), false);
});
