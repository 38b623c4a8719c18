import assert from "node:assert/strict";
import { Code } from "@connectrpc/connect";
import { ConsoleService, MachineService } from "../../shared/gen/machine/cloud/v1/machine_pb.ts";
import { AgentService } from "../../shared/gen/machine/cloud/v1/releases_pb.ts";
import { RobotService } from "../../shared/gen/viam/app/v1/robot_pb.ts";
import { FakeClock } from "../../shared/base/time/fake_clock.ts";
import { type Clock, systemClock } from "../../shared/base/time/clock.ts";
import { waitFor } from "../../shared/base/time/wait_for.ts";
import { PostgresServer } from "../../shared/test_tools/postgres_server.ts";
import { ignoreWithout } from "../../shared/test_tools/skips.ts";
import { Watching } from "../fleet/watch/watch_testing.ts";
import { apiKey, partSecret, TestCloud } from "./cloud_testing.ts";

const ignore = ignoreWithout(import.meta.url, "postgresql");
const DEADLINE = { deadlineMs: 60_000 };

/** Two nodes of one cloud in this process; programs call `one`, machines `other`. */
class Pair implements AsyncDisposable {
  private constructor(
    readonly server: PostgresServer,
    readonly one: TestCloud,
    readonly other: TestCloud,
  ) {}

  static async open(clock: Clock = systemClock): Promise<Pair> {
    const server = await PostgresServer.start();
    const database = server.address("pool=4");
    const one = await TestCloud.open({ database });
    const other = await TestCloud.open({ database, nodeOf: one, clock });
    await waitFor(() => one.services.nodes.members().length === 2, DEADLINE);
    return new Pair(server, one, other);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.other[Symbol.asyncDispose]();
    await this.one[Symbol.asyncDispose]();
    await this.server[Symbol.asyncDispose]();
  }
}

Deno.test({
  name: "a machine on one node is seen on the other: saves, presence, health, readings, agents",
  ignore,
  async fn() {
    await using pair = await Pair.open();
    const { one, other } = pair;
    const made = await one.bootstrap();
    const partId = made.part_id;
    const looking = one.client(ConsoleService, apiKey(made));
    const state = () => one.services.presence.of(partId).state;
    assert.equal(state(), "awaiting-setup");

    await using watching = new Watching(other, made);
    await watching.has("configChanged");
    await waitFor(() => state() === "online", DEADLINE);
    await one.app(made).updateRobotPart({ id: partId, robotConfig: { debug: true } });
    await watching.has("configChanged", "configChanged");

    const machine = other.client(MachineService, partSecret(made));
    await machine.reportStatus({ partId, configError: "broken", status: { state: 2 } });
    for await (const { machines } of looking.watchFleet({ organizationId: made.org_id })) {
      if (machines.some(({ configError }) => configError === "broken")) break;
    }
    await looking.getPartLiveStatus({ partId });
    await watching.has("configChanged", "configChanged", "liveRequested");
    await machine.reportStatus({
      partId,
      configError: "broken",
      readings: [{ name: "host", readings: { cpu_percent: 12.5 } }],
    });
    await waitFor(async () => {
      const live = await looking.getPartLiveStatus({ partId });
      return live.readings[0]?.readings?.["cpu_percent"] === 12.5 && live.status?.state === 2;
    }, DEADLINE);

    const agent = other.client(AgentService, partSecret(made));
    await agent.reportAgentStatus({
      partId,
      status: { platform: "linux/amd64", server: { installed: "1.2.3", running: "1.2.3" } },
    });
    await waitFor(async () => {
      const live = await looking.getPartLiveStatus({ partId });
      return live.agent?.server?.installed === "1.2.3";
    }, DEADLINE);

    other.services.watchers.close();
    assert.equal((await watching.ended as { code: Code }).code, Code.Unavailable);
    await waitFor(() => other.services.presence.connected === 0, DEADLINE);
    assert.equal(state(), "online", "as it called a moment ago");
    await waitFor(
      () => [...one.services.presence.signs()].every(({ isStreaming }) => !isStreaming),
      DEADLINE,
    );
  },
});

Deno.test({
  name: "a machine that asks two nodes is told once that it must restart",
  ignore,
  async fn() {
    await using pair = await Pair.open();
    const made = await pair.one.bootstrap();
    await pair.one.app(made).markPartForRestart({ partId: made.part_id });
    const asks = (cloud: TestCloud) =>
      cloud.client(RobotService, partSecret(made)).needsRestart({ id: made.part_id });
    assert.equal((await asks(pair.other)).mustRestart, true);
    await waitFor(async () => !(await asks(pair.one)).mustRestart, DEADLINE);
    assert.equal((await asks(pair.other)).mustRestart, false);
  },
});

Deno.test({
  name: "a key that is withdrawn on one node is refused on the other, and its stream ends there",
  ignore,
  async fn() {
    await using pair = await Pair.open();
    const { one, other } = pair;
    const made = await one.bootstrap();
    const key = await one.app(made).createKey({
      name: "for a while",
      authorizations: [{
        authorizationId: "owner",
        resourceType: "organization",
        resourceId: made.org_id,
      }],
    });
    const credentials = { type: "api-key", entity: key.id, payload: key.key };
    const stream = other.client(ConsoleService, credentials)
      .watchFleet({ organizationId: made.org_id })[Symbol.asyncIterator]();
    await stream.next();
    await one.app(made).deleteKey({ id: key.id });
    const ended = await (async () => {
      try {
        while (!(await stream.next()).done);
      } catch (error) {
        return (error as { code: Code }).code;
      }
    })();
    assert.equal(ended, Code.Unauthenticated);
  },
});

Deno.test({
  name: "machines of a node that died are there until they had time to connect to another one",
  ignore,
  async fn() {
    const clock = new FakeClock(Date.now());
    await using pair = await Pair.open(clock);
    const { one, other } = pair;
    const made = await one.bootstrap();
    await using watching = new Watching(other, made);
    await watching.has("configChanged");
    const sign = () =>
      [...one.services.presence.signs()].find(({ partId }) => partId === made.part_id);
    await waitFor(async () => {
      await clock.advance(100);
      return sign()?.isStreaming;
    }, DEADLINE);
    // Its clock stands still from here on, as if its process were stopped.
    await waitFor(() => one.services.nodes.members().length === 1, DEADLINE);
    assert.equal(sign()?.isStreaming, false);
    assert.equal(one.services.presence.of(made.part_id).state, "online");
    // It wakes up, and the other one learns again what it has.
    await waitFor(async () => {
      await clock.advance(500);
      return sign()?.isStreaming;
    }, DEADLINE);
    await waitFor(() => one.services.nodes.members().length === 2, DEADLINE);
  },
});
