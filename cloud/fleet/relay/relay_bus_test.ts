import assert from "node:assert/strict";
import { memoryLogger } from "../../../shared/log/memory_logger_testing.ts";
import { type MessageListener, requirePayload } from "../../nodes/node_bus.ts";
import { LocalNodes, type Nodes } from "../../nodes/nodes.ts";
import { DeviceCalls, MOST_ANSWER_BYTES } from "./device_calls.ts";
import { type ExpectedCaller, RelayBus } from "./relay_bus.ts";

const log = memoryLogger("nodes");
const { signal: never } = new AbortController();
const CALL = {
  method: "/a.B/C",
  request: new Uint8Array(0),
  caller: "key",
  isOwner: true,
  sessionId: "",
};

/** Two nodes in this process; what one publishes is at the other when the call returns. */
function twoNodes() {
  const listeners: [string, string, MessageListener][] = [];
  let published = 0;
  const node = (id: string): Nodes =>
    Object.assign(new LocalNodes(log, { id, host: "", address: "", version: "" }), {
      members: () => ["a", "b"].map((id) => ({ id, host: "", address: "", version: "" })),
      bus: {
        publish(topic: string, payload: string): Promise<void> {
          requirePayload(payload);
          published++;
          for (const [, to, listener] of listeners) {
            if (to === topic) listener({ from: id, payload });
          }
          return Promise.resolve();
        },
        subscribe(topic: string, listener: MessageListener): Disposable {
          const entry: [string, string, MessageListener] = [id, topic, listener];
          listeners.push(entry);
          return { [Symbol.dispose]: () => void listeners.splice(listeners.indexOf(entry), 1) };
        },
      },
    });
  const [a, b] = ["a", "b"].map((id) => {
    const calls = new DeviceCalls();
    return { calls, bus: new RelayBus(node(id), calls, log) };
  });
  assert.ok(a && b);
  return { a, b, published: () => published };
}

Deno.test("RelayBus brings an answer to the node that has the device's call", async () => {
  const { a, b, published } = twoNodes();
  const device = a.calls.opened("part", () => {});
  const calling = a.calls.call("part", CALL, never);
  const [call] = device.take();
  const answer = { id: call?.id ?? 0, code: 0, message: "", response: Uint8Array.of(1, 2, 250) };
  b.bus.answer("other", [answer]);
  b.bus.answer("part", [answer]);
  assert.deepEqual([...await calling], [1, 2, 250]);
  // Nobody passes on what came from another node.
  assert.equal(published(), 2);
});

Deno.test("RelayBus sends other nodes no more than a message holds", () => {
  const { b, published } = twoNodes();
  const response = new Uint8Array(MOST_ANSWER_BYTES);
  b.bus.answer(
    "part",
    Array.from({ length: 100 }, (_, id) => ({
      ...{ id, code: 0, message: "", response },
    })),
  );
  b.bus.answer("part", [{ id: 1, code: 3, message: "x".repeat(1_000_000), response }]);
  assert.equal(published(), 2);
});

Deno.test("RelayBus reports callers to other nodes, and none after its end", () => {
  const { a, b } = twoNodes();
  const got: ExpectedCaller[] = [];
  a.bus.onExpected((caller) => got.push(caller));
  const identity = { entity: "key", credentialType: "api-key", claims: {} } as const;
  const expected = {
    part: { id: "part", org_id: "org" },
    ticket: "t",
    facts: { identity, host: "h", address: "", client: "" },
  };
  b.bus.expect(expected);
  assert.deepEqual(got, [expected]);
  a.bus.close();
  b.bus.expect(expected);
  assert.equal(got.length, 1);
});
