import assert from "node:assert/strict";
import { Code, type ConnectError } from "@connectrpc/connect";
import { systemClock } from "../../../shared/base/time/clock.ts";
import { waitFor } from "../../../shared/base/time/wait_for.ts";
import type { Offer, WaitingAnswerer } from "../../../shared/rtc/signaling/call_sides.ts";
import { ignoreWithout } from "../../../shared/test_tools/skips.ts";
import { NodesRig, type TestNode } from "../../nodes/nodes_testing.ts";
import { SharedCalls } from "./shared_calls.ts";

const ignore = ignoreWithout(import.meta.url, "postgresql");
const DEADLINE = { deadlineMs: 60_000 };
const HOST = "part-1";
const OFFER: Offer = {
  sdp: "offer",
  disableTrickle: false,
  caller: { owner: "api-key k", entity: "k", metadata: { role: "operator" } },
};
const CANDIDATE = { candidate: "candidate:1 1 udp 1 10.0.0.1 5000 typ host", sdpMLineIndex: 0 };

/** Notes what one side receives. */
class Side {
  readonly got: string[] = [];
  error: ConnectError | undefined;
  isEnded = false;
  uuid = "";
  offer: Offer | undefined;

  offered(uuid: string, offer: Offer): void {
    this.uuid = uuid;
    this.offer = offer;
    this.got.push("offer");
  }
  answered(sdp: string): void {
    this.got.push(`answer ${sdp}`);
  }
  candidate({ candidate }: { readonly candidate: string }): void {
    this.got.push(candidate);
  }
  done(): void {
    this.got.push("done");
  }
  ended(error: ConnectError | undefined): void {
    this.error = error;
    this.isEnded = true;
  }
}

class Rig implements AsyncDisposable {
  readonly #calls: SharedCalls[] = [];

  private constructor(readonly nodes: NodesRig) {}

  static async start(): Promise<Rig> {
    return new Rig(await NodesRig.start());
  }

  async join(): Promise<{ node: TestNode; calls: SharedCalls }> {
    const node = await this.nodes.join();
    const calls = new SharedCalls({
      nodes: node.nodes,
      clock: systemClock,
      uuid: () => crypto.randomUUID(),
      log: node.log,
    });
    this.#calls.push(calls);
    return { node, calls };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const calls of this.#calls) calls.close();
    await this.nodes[Symbol.asyncDispose]();
  }
}

async function knowing(...all: readonly { readonly node: TestNode }[]): Promise<void> {
  await waitFor(
    () => all.every(({ node }) => node.nodes.members().length === all.length),
    DEADLINE,
  );
}

/** A machine that answers, waiting for one call. */
function machineAt(calls: SharedCalls): { side: Side; answerer: WaitingAnswerer } {
  const side = new Side();
  return { side, answerer: calls.answer([HOST], side) };
}

Deno.test({
  name: "a caller at one node and a machine at another exchange all that they have to say",
  ignore,
  async fn() {
    await using rig = await Rig.start();
    const [first, second, third] = [await rig.join(), await rig.join(), await rig.join()];
    await knowing(first, second, third);
    const { side: machine, answerer } = machineAt(second.calls);
    const caller = new Side();
    const { uuid } = first.calls.call(HOST, OFFER, caller);
    await waitFor(() => machine.got.includes("offer"), DEADLINE);
    assert.equal(machine.uuid, uuid);
    assert.deepEqual(machine.offer, OFFER);

    // What a caller sends is a call of its own, at whichever node the balancer chose.
    const { owner } = OFFER.caller;
    const update = { kind: "candidate", candidate: CANDIDATE } as const;
    await first.calls.update(HOST, uuid, owner, update);
    await second.calls.update(HOST, uuid, owner, update);
    await third.calls.update(HOST, uuid, owner, update);
    const isNone = { code: Code.NotFound };
    await assert.rejects(third.calls.update(HOST, uuid, "api-key other", update), isNone);
    await assert.rejects(third.calls.update("part-2", uuid, owner, update), isNone);
    await assert.rejects(third.calls.update(HOST, crypto.randomUUID(), owner, update), isNone);

    answerer.candidate(CANDIDATE);
    answerer.answer("here");
    await waitFor(() => caller.got.length === 2, DEADLINE);
    assert.deepEqual(caller.got, ["answer here", CANDIDATE.candidate]);
    answerer.done();
    await waitFor(() => caller.isEnded, DEADLINE);
    assert.equal(caller.error, undefined);
    await third.calls.update(HOST, uuid, owner, { kind: "done" });
    await waitFor(() => machine.isEnded, DEADLINE);
    assert.equal(machine.error, undefined);
    const { candidate } = CANDIDATE;
    assert.deepEqual(machine.got, ["offer", candidate, candidate, candidate, "done"]);
    await assert.rejects(third.calls.update(HOST, uuid, owner, update), isNone);
  },
});

Deno.test({
  name: "calls wait for a machine that comes to another node, or is busy there",
  ignore,
  async fn() {
    await using rig = await Rig.start();
    const [first, second] = [await rig.join(), await rig.join()];
    await knowing(first, second);
    const callers = [new Side(), new Side()];
    for (const caller of callers) first.calls.call(HOST, OFFER, caller);
    const { side, answerer } = machineAt(second.calls);
    await waitFor(() => side.got.includes("offer"), DEADLINE);
    const { side: next, answerer: again } = machineAt(second.calls);
    await waitFor(() => next.got.includes("offer"), DEADLINE);
    answerer.answer("1");
    again.answer("2");
    await waitFor(() => callers.every(({ got }) => got.length === 1), DEADLINE);
    assert.deepEqual(callers.map(({ got }) => got[0]).sort(), ["answer 1", "answer 2"]);
  },
});

Deno.test({
  name: "what a machine refuses at another node, its caller learns; nobody there is offline",
  ignore,
  async fn() {
    await using rig = await Rig.start();
    const [first, second] = [await rig.join(), await rig.join()];
    await knowing(first, second);
    const caller = new Side();
    const { side, answerer } = machineAt(second.calls);
    first.calls.call(HOST, OFFER, caller);
    await waitFor(() => side.got.includes("offer"), DEADLINE);
    answerer.leave();
    await waitFor(() => caller.isEnded, DEADLINE);
    assert.equal(caller.error?.code, Code.Unavailable);

    const leaving = new Side();
    const { side: left } = machineAt(second.calls);
    const placed = first.calls.call(HOST, OFFER, leaving);
    await waitFor(() => left.got.includes("offer"), DEADLINE);
    placed.leave();
    await waitFor(() => left.isEnded, DEADLINE);
    assert.equal(left.error?.code, Code.Canceled);

    const none = new Side();
    first.calls.call("part-3", OFFER, none);
    await waitFor(() => none.isEnded, DEADLINE);
    assert.equal(none.error?.code, Code.NotFound);
  },
});

Deno.test({
  name: "a node that goes ends what it had to do with, for both sides",
  ignore,
  async fn() {
    await using rig = await Rig.start();
    const [first, second, third] = [await rig.join(), await rig.join(), await rig.join()];
    await knowing(first, second, third);
    const caller = new Side();
    const { side } = machineAt(second.calls);
    first.calls.call(HOST, OFFER, caller);
    await waitFor(() => side.got.includes("offer"), DEADLINE);
    await second.node.nodes.close();
    await waitFor(() => caller.isEnded, DEADLINE);
    assert.equal(caller.error?.code, Code.Unavailable);

    const { side: other } = machineAt(third.calls);
    first.calls.call(HOST, OFFER, new Side());
    await waitFor(() => other.got.includes("offer"), DEADLINE);
    await first.node.nodes.close();
    await waitFor(() => other.isEnded, DEADLINE);
    assert.equal(other.error?.code, Code.Unavailable);
  },
});
