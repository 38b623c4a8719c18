import assert from "node:assert/strict";
import { AttemptLimiter } from "../../shared/cloud/auth/attempt_limiter.ts";
import { systemClock } from "../../shared/base/time/clock.ts";
import { waitFor } from "../../shared/base/time/wait_for.ts";
import { ignoreWithout } from "../../shared/test_tools/skips.ts";
import { NodesRig, type TestNode } from "./nodes_testing.ts";
import { shareAttempts } from "./shared_attempts.ts";

const DEADLINE = { deadlineMs: 60_000 };
const SECRET = new Uint8Array(32);

/** A node that lets in who knows the secret; nobody regains attempts, as time stands still. */
class Door implements AsyncDisposable {
  readonly limiter = new AttemptLimiter(() => 0, {}, SECRET);
  readonly #shared: AsyncDisposable;

  constructor({ nodes, log }: TestNode) {
    this.#shared = shareAttempts(nodes, { secrets: this.limiter }, { clock: systemClock, log });
  }

  /** How an attempt ended. */
  async try(address: string, payload: string, entity = "ann"): Promise<string> {
    const credential = { type: "password", entity, payload };
    const isRight = payload === "right";
    const outcome = await this.limiter.attempt(
      { address, credential },
      () => Promise.resolve(isRight || undefined),
    );
    return outcome.kind;
  }

  /** How many keys it knows wrong attempts of. */
  get known(): number {
    return [...this.limiter.levels()].length;
  }

  /** What is left where there were many. */
  lefts(): string {
    const all = [...this.limiter.levels()].map(([, , left]) => left);
    return `${all.filter((left) => left < 190).sort((a, b) => a - b)}`;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#shared[Symbol.asyncDispose]();
  }
}

/** Waits until both have answered what the other one asked when it came. */
async function introduce(one: Door, other: Door): Promise<void> {
  other.limiter.failed("198.51.100.1");
  await waitFor(() => one.known === 1, DEADLINE);
  one.limiter.failed("198.51.100.2");
  await waitFor(() => other.known === 2, DEADLINE);
}

Deno.test({
  name:
    "wrong attempts count on all nodes, on one that comes later too, and right ones cost nothing",
  ignore: ignoreWithout(import.meta.url, "postgresql"),
  async fn() {
    await using rig = await NodesRig.start();
    const nodes = [await rig.join(), await rig.join()];
    await waitFor(() => nodes.every((each) => each.nodes.members().length === 2), DEADLINE);
    await using one = new Door(nodes[0]!);
    await using other = new Door(nodes[1]!);
    const sent = async (address: string) =>
      Number(
        await rig.server.query(
          "select count(*) from machine_cloud.node_messages " +
            `where topic = 'attempts' and payload like '%"${address}"%'`,
        ),
      );
    await introduce(one, other);
    for (let at = 0; at < 50; at++) {
      assert.equal(await [one, other][at % 2]?.try("192.0.2.1", "right", `e${at}`), "right");
    }
    assert.equal(await sent("192.0.2.1"), 0);

    // Both at once: each lets its own 20 pass, and they owe the others.
    for (let at = 0; at < 10; at++) {
      for (const door of [one, other]) assert.equal(await door.try("2001:db8::1", "x"), "wrong");
    }
    // The address, of 200, and the entity at it, of 20.
    await waitFor(() => [one, other].every((door) => door.lefts() === "0,180"), DEADLINE);
    for (const door of [one, other]) {
      assert.equal(await door.try("2001:db8::2", "x"), "refused", "the same /64");
      assert.equal(await door.try("2001:db8::2", "right"), "refused");
      assert.equal(await door.try("2001:db8::2", "right", "bob"), "right");
      assert.equal(await door.try("2001:db8:0:1::2", "right"), "right");
    }
    const messages = await sent("2001:db8:0:0::/64");
    assert.ok(messages >= 2 && messages <= 20, `${messages}`);

    const late = await rig.join();
    await using third = new Door(late);
    await waitFor(() => third.lefts() === "0,180", DEADLINE);
    assert.equal(await third.try("2001:db8::3", "right"), "refused");
  },
});

Deno.test({
  name: "guesses from thousands of networks take a bounded room between nodes",
  ignore: ignoreWithout(import.meta.url, "postgresql"),
  async fn() {
    await using rig = await NodesRig.start();
    const nodes = [await rig.join(), await rig.join()];
    await waitFor(() => nodes.every((each) => each.nodes.members().length === 2), DEADLINE);
    await using one = new Door(nodes[0]!);
    await using other = new Door(nodes[1]!);
    await introduce(one, other);
    // Without a turn of the loop's timers between: all of it is one moment.
    for (let at = 0; at < 5_000; at++) one.limiter.failed(`10.0.${at >> 8}.${at & 255}`);
    await waitFor(() => other.known === 1_002, DEADLINE);
    assert.equal(one.known, 5_002);
    one.limiter.failed("192.0.2.9");
    await waitFor(() => other.known === 1_003, DEADLINE);
    assert.equal(
      await rig.server.query(
        "select sum(length(payload)) < 200000 from machine_cloud.node_messages where topic = 'attempts'",
      ),
      "t",
    );
  },
});
