/** Requests with random content to every method of every fake: answers or clear errors, no more. */
import { create, type DescField, type DescMessage, type Message } from "@bufbuild/protobuf";
import { Code, ConnectError, createClient, type Transport } from "@connectrpc/connect";
import assert from "node:assert/strict";
import { type RandomSource, randomSource } from "../../../shared/test_tools/random_source.ts";
import { memoryLogger } from "../../../shared/log/memory_logger_testing.ts";
import { createInProcessTransport } from "../../../shared/rpc/server/in_process.ts";
import { RpcRouter } from "../../../shared/rpc/server/router.ts";
import { FakeClock } from "../../../shared/base/time/fake_clock.ts";
import { builtinModels } from "../../models/builtin.ts";
import { testEnvironment } from "../../models/testing.ts";
import { ResourceManager } from "../../resources/graph/manager.ts";
import { addresseeOf } from "../../modules/forwarding/addressee.ts";
import { servedApis } from "./all.ts";
import type { ServedApi } from "./served_api.ts";

const REQUESTS_OF_A_METHOD = 12;

const NAME = "it";

/** Numbers of the types of protobuf's scalar fields. */
const NUMBERS = {
  double: [0, 1, -1, 45, 0.5, 1e308, -1e-300, NaN, Infinity, -Infinity],
  float: [0, 1, -1, 0.5, NaN, Infinity],
  signed: [0, 1, 7, -1, 2 ** 31 - 1, -(2 ** 31)],
  unsigned: [0, 1, 7, 2 ** 32 - 1],
} as const;

const TEXTS = ["", NAME, "é\u0000", "a".repeat(1_000), "image/jpeg", "pcm16", "AbsoluteX"] as const;

function scalar({ scalar }: DescField, random: RandomSource): unknown {
  switch (scalar) {
    case 1:
      return random.pick(NUMBERS.double);
    case 2:
      return random.pick(NUMBERS.float);
    case 3:
    case 16:
    case 18:
      return BigInt(random.pick(NUMBERS.signed));
    case 4:
    case 6:
      return BigInt(random.pick(NUMBERS.unsigned));
    case 7:
    case 13:
      return random.pick(NUMBERS.unsigned);
    case 8:
      return random.chance(0.5);
    case 9:
      return random.pick(TEXTS);
    case 12:
      return Uint8Array.from({ length: random.below(50) }, () => random.below(256));
    default:
      return random.pick(NUMBERS.signed);
  }
}

function single(field: DescField, random: RandomSource, depth: number): unknown {
  if (field.message) return randomMessage(field.message, random, depth + 1);
  return field.enum ? random.below(5) : scalar(field, random);
}

function randomMessage(type: DescMessage, random: RandomSource, depth = 0): Message {
  const fields: Record<string, unknown> = {};
  if (type.typeName === "google.protobuf.Struct") return create(type);
  if (depth > 4 || type.typeName.startsWith("google.protobuf.")) return create(type);
  for (const field of type.fields) {
    if (field.oneof || field.fieldKind === "map" || random.chance(0.3)) continue;
    fields[field.localName] = field.fieldKind === "list"
      ? Array.from({ length: random.below(3) }, () => single(field, random, depth))
      : single(field, random, depth);
  }
  for (const { localName, fields: choices } of type.oneofs) {
    const field = choices[random.below(choices.length)]!;
    const value = single(field, random, depth);
    if (random.chance(0.8)) fields[localName] = { case: field.localName, value };
  }
  return create(type, fields);
}

type Call = (request: unknown, options: { signal: AbortSignal }) => unknown;

/** Calls a method; "ok", or the error's code and text. */
async function outcome(
  transport: Transport,
  { service }: ServedApi,
  method: ServedApi["service"]["methods"][number],
  { random, clock }: { random: RandomSource; clock: FakeClock },
): Promise<string> {
  const addressee = addresseeOf(method.input)!;
  const request = () => addressee.put(randomMessage(method.input, random), NAME);
  async function* requests() {
    for (let n = 0; n < 3; n++) yield request();
  }
  const client = createClient(service, transport) as unknown as Record<string, Call>;
  const leaving = new AbortController();
  const isStream = method.methodKind === "client_streaming" ||
    method.methodKind === "bidi_streaming";
  const work = (async () => {
    const answer = client[method.localName]!(isStream ? requests() : request(), leaving);
    if (method.methodKind === "unary" || method.methodKind === "client_streaming") await answer;
    else {
      let messages = 0;
      for await (const _message of answer as AsyncIterable<unknown>) if (++messages >= 5) break;
    }
  })();
  const ended = work.then(() => "ok", (error: unknown) => {
    const { code, rawMessage } = ConnectError.from(error);
    return `${Code[code]}: ${rawMessage}`;
  });
  await clock.advance(200);
  leaving.abort();
  await clock.advance(0);
  return await ended;
}

Deno.test("every method of every fake answers random requests, or says clearly why not", async () => {
  const seed = 20_261_122;
  const random = randomSource(seed);
  const clock = new FakeClock();
  const registry = builtinModels(testEnvironment({ clock }));
  await registry.dump(); // loads what is loaded late
  const resources = new ResourceManager({ registry, clock, log: memoryLogger() });
  const router = new RpcRouter();
  for (const api of servedApis) api.mount(router, resources.index);
  const transport = createInProcessTransport(router, { interceptors: [] });
  const fakes = registry.list().filter(({ model }) => model === "rdk:builtin:fake");
  await resources.apply(
    fakes.map(({ api, model }) => ({ name: NAME, api, model, attributes: {}, dependsOn: [] })),
    "r1",
  );

  const unclear: string[] = [];
  for (const api of servedApis.filter(({ api }) => fakes.some((fake) => fake.api === api))) {
    for (const method of api.service.methods) {
      for (let n = 0; n < REQUESTS_OF_A_METHOD; n++) {
        const found = await outcome(transport, api, method, { random, clock });
        if (/^(Internal|DataLoss|Unavailable)|is not a function|undefined/.test(found)) {
          unclear.push(`${method.parent.typeName}/${method.name}: ${found}`);
        }
      }
    }
  }
  assert.deepEqual(unclear, [], `seed ${seed}`);
  assert.deepEqual(
    resources.snapshot().filter(({ state }) => state !== "ready"),
    [],
    "all of them still run",
  );
  await resources.close();
  assert.equal(clock.pendingTimers, 0, "nothing waits any longer");
});
