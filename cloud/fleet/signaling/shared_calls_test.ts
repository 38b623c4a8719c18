import assert from "node:assert/strict";
import { Code, type ConnectError } from "@connectrpc/connect";
import { FakeClock } from "../../../shared/base/time/fake_clock.ts";
import { waitFor } from "../../../shared/base/time/wait_for.ts";
import type { Offer, WaitingAnswerer } from "../../../shared/rtc/signaling/call_sides.ts";
import { memoryLogger } from "../../../shared/log/memory_logger_testing.ts";
import { type MessageListener, type NodeBus, requirePayload } from "../../nodes/node_bus.ts";
import { LocalNodes, type NodeChange, type Nodes } from "../../nodes/nodes.ts";
import { SharedCalls } from "./shared_calls.ts";

const log = memoryLogger("nodes");
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

/** A node of several in this process: what one publishes reaches the others a moment later. */
class TestNodes implements Disposable {
  readonly #ids: string[] = [];
  readonly #subscribers: { node: string; topic: string; listener: MessageListener }[] = [];
  readonly #changes = new Map<string, (change: NodeChange) => void>();
  readonly #calls: SharedCalls[] = [];
  /** Of the calls: they end when the test says so. */
  readonly clock = new FakeClock();

  join(): { id: string; calls: SharedCalls } {
    const id = `node-${this.#ids.length + 1}`;
    this.#ids.push(id);
    const nodes: Nodes = Object.assign(
      new LocalNodes(log, { id, host: "", address: "", version: "" }),
      {
        members: () => this.#ids.map((id) => ({ id, host: "", address: "", version: "" })),
        bus: this.#bus(id),
        listen: (listener: (change: NodeChange) => void) => {
          this.#changes.set(id, listener);
          return { [Symbol.dispose]: () => void this.#changes.delete(id) };
        },
      },
    );
    const uuid = () => crypto.randomUUID();
    const calls = new SharedCalls({ nodes, clock: this.clock, uuid, log });
    this.#calls.push(calls);
    return { id, calls };
  }

  /** A node goes: nothing reaches it any more, and the others learn it. */
  leave(id: string): void {
    this.#ids.splice(this.#ids.indexOf(id), 1);
    this.#changes.delete(id);
    for (const notify of this.#changes.values()) notify({ id, kind: "left" });
  }

  [Symbol.dispose](): void {
    for (const calls of this.#calls) calls.close();
  }

  #bus(from: string): NodeBus {
    return {
      publish: (topic, payload, to) => {
        requirePayload(payload);
        queueMicrotask(() => {
          for (const { node, topic: wanted, listener } of this.#subscribers) {
            if (wanted !== topic || !this.#ids.includes(node) || !this.#ids.includes(from)) {
              continue;
            }
            if (to === undefined || to === node) listener({ from, payload });
          }
        });
        return Promise.resolve();
      },
      subscribe: (topic, listener) => {
        const entry = { node: from, topic, listener };
        this.#subscribers.push(entry);
        return {
          [Symbol.dispose]: () => {
            this.#subscribers.splice(this.#subscribers.indexOf(entry), 1);
          },
        };
      },
    };
  }
}

/** A machine that answers, waiting for one call. */
function machineAt(calls: SharedCalls): { side: Side; answerer: WaitingAnswerer } {
  const side = new Side();
  return { side, answerer: calls.answer([HOST], side) };
}

Deno.test({
  name: "a caller at one node and a machine at another exchange all that they have to say",
  async fn() {
    using rig = new TestNodes();
    const [first, second, third] = [rig.join(), rig.join(), rig.join()];
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
  async fn() {
    using rig = new TestNodes();
    const [first, second] = [rig.join(), rig.join()];
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
  async fn() {
    using rig = new TestNodes();
    const [first, second] = [rig.join(), rig.join()];
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
    await rig.clock.advance(6_000);
    await waitFor(() => none.isEnded, DEADLINE);
    assert.equal(none.error?.code, Code.NotFound);
  },
});

Deno.test({
  name: "a node that goes ends what it had to do with, for both sides",
  async fn() {
    using rig = new TestNodes();
    const [first, second, third] = [rig.join(), rig.join(), rig.join()];
    const caller = new Side();
    const { side } = machineAt(second.calls);
    first.calls.call(HOST, OFFER, caller);
    await waitFor(() => side.got.includes("offer"), DEADLINE);
    rig.leave(second.id);
    await waitFor(() => caller.isEnded, DEADLINE);
    assert.equal(caller.error?.code, Code.Unavailable);

    const { side: other } = machineAt(third.calls);
    first.calls.call(HOST, OFFER, new Side());
    await waitFor(() => other.got.includes("offer"), DEADLINE);
    rig.leave(first.id);
    await waitFor(() => other.isEnded, DEADLINE);
    assert.equal(other.error?.code, Code.Unavailable);
  },
});
