import assert from "node:assert/strict";
import type { Messages } from "../../../shared/gen/micro/messages.ts";
import { Code, RpcError } from "../rpc/errors.ts";
import type { Admitted } from "../serving/services.ts";
import { MOST_ANSWER_BYTES, Relay, type RelayOptions } from "./relay.ts";

type Sent = { readonly partId: string; readonly answers: readonly Answer[] };
type Answer = { id: number; response?: Uint8Array; code?: number; message?: string };

const CALL: Messages["machine.cloud.v1.RelayedCall"] = {
  id: 1,
  method: "/viam.robot.v1.RobotService/GetVersion",
  request: new Uint8Array(0),
  caller: "somebody",
  role: 1,
  sessionId: "",
};

function setUp(perform: (request: Uint8Array) => Promise<Uint8Array> | Uint8Array) {
  const sent: Sent[] = [];
  const lines: string[] = [];
  const callers: unknown[] = [];
  let ways: PromiseWithResolvers<Record<string, never>>[] = [];
  const relay = new Relay({
    host: { log: (line: string) => void lines.push(line) },
    client: {
      credentials: { partId: "part" },
      call(_path: string, input: Sent) {
        sent.push(input);
        const way = Promise.withResolvers<Record<string, never>>();
        ways.push(way);
        return way.promise;
      },
    },
    services: {
      admitRelayed(path: string, caller: unknown): Admitted {
        callers.push(caller);
        if (path.includes("Shutdown")) throw new RpcError("permission_denied", "not for you");
        return {
          types: { input: "", output: "", moves: false },
          ...{ path, caller: undefined, session: undefined },
          most: 1000,
        };
      },
      call: async (_admitted: Admitted, request: Uint8Array) => await perform(request),
    },
  } as unknown as RelayOptions);
  return {
    ...{ relay, sent, lines, callers },
    /** The requests that are under way end. */
    async arrive(error?: Error) {
      const all = ways;
      ways = [];
      for (const way of all) {
        if (error) way.reject(error);
        else way.resolve({});
      }
      await settle();
    },
  };
}

const settle = () => new Promise((done) => setTimeout(done, 0));

Deno.test("Relay answers calls, and what is ready meanwhile leaves together", async () => {
  const { relay, sent, callers, arrive } = setUp((request) => request);
  relay.take({ ...CALL, id: 1, request: Uint8Array.of(1) });
  await settle();
  relay.take({ ...CALL, id: 2, request: Uint8Array.of(2), role: 2, caller: "x" });
  relay.take({ ...CALL, id: 3, request: Uint8Array.of(3), role: 99 });
  await settle();
  assert.deepEqual(sent.map(({ answers }) => answers.map(({ id }) => id)), [[1]]);
  await arrive();
  assert.deepEqual(sent.map(({ answers }) => answers.map(({ id }) => id)), [[1], [2, 3]]);
  assert.deepEqual(sent[1]?.answers[0]?.response, Uint8Array.of(2));
  assert.equal(sent[0]?.partId, "part");
  // A role that the device does not know is the one that may less.
  assert.deepEqual(callers, [
    { entity: "somebody", role: "owner" },
    { entity: "x", role: "operator" },
    { entity: "somebody", role: "operator" },
  ]);
});

Deno.test("Relay answers with the reason what is refused, fails or is too large", async () => {
  const { relay, sent, arrive } = setUp((request) => {
    if (request[0] === 7) throw new Error("the sensor is gone");
    return new Uint8Array(MOST_ANSWER_BYTES + 1);
  });
  relay.take({ ...CALL, id: 1, method: "/viam.robot.v1.RobotService/Shutdown" });
  relay.take({ ...CALL, id: 2, request: new Uint8Array(1001) });
  relay.take({ ...CALL, id: 3, request: Uint8Array.of(7) });
  relay.take({ ...CALL, id: 4 });
  await settle();
  await arrive();
  const answers = sent.flatMap(({ answers }) => answers).toSorted((a, b) => a.id - b.id);
  assert.deepEqual(answers.map(({ code }) => code), [
    Code.permission_denied,
    Code.resource_exhausted,
    Code.unknown,
    Code.resource_exhausted,
  ]);
  assert.equal(answers[2]?.message, "the sensor is gone");
});

Deno.test("Relay keeps few answers for a cloud that takes none, and goes on after it", async () => {
  const { relay, sent, lines, arrive } = setUp(() => new Uint8Array(40_000));
  for (let id = 1; id <= 10; id++) relay.take({ ...CALL, id });
  await settle();
  await arrive(new Error("the cloud is gone"));
  assert.match(lines.join("\n"), /answers to calls are lost: the cloud is gone/);
  for (let turn = 0; turn < 10; turn++) await arrive();
  const answers = sent.flatMap(({ answers }) => answers);
  assert.equal(answers.length, 10);
  const large = answers.filter(({ response }) => response);
  assert.equal(large.length, 3);
  const others = answers.filter(({ response }) => !response);
  assert.ok(others.every(({ code }) => code === Code.resource_exhausted));
  relay.take({ ...CALL, id: 11 });
  await settle();
  assert.equal(sent.at(-1)?.answers[0]?.response?.length, 40_000);
});
