import assert from "node:assert/strict";
import { encodeFrame, ErrorCode, Flag, FrameType, PREFACE } from "../../../shared/rpc/h2/frames.ts";
import { fromUtf8, utf8 } from "../bytes/utf8.ts";
import { Machine } from "../machine.ts";
import { fakes } from "../models/fakes.ts";
import { encode } from "../proto/codec.ts";
import { concat } from "../bytes/bytes.ts";
import { FakeHost, turns } from "../testing.ts";
import { Access } from "./access.ts";
import { Server } from "./server.ts";
import { Services } from "./services.ts";
import { Sessions } from "./sessions.ts";

const KEY = { type: "api-key", entity: "id", secret: "key", role: "operator" } as const;

/** A machine with a sensor, and a port that one key opens. */
async function served() {
  const host = new FakeHost();
  const machine = new Machine(host, fakes);
  machine.graph.apply([{
    name: "fake",
    api: "rdk:component:sensor",
    model: "rdk:builtin:fake",
    attributes: {},
    dependsOn: [],
  }], "1");
  const access = new Access({
    host,
    secret: "part",
    keys: () => [KEY],
    verify: () => Promise.reject(new Error("no cloud")),
  });
  const sessions = new Sessions({ host, halt: () => {}, warn: () => {} });
  const services = new Services({ machine, access, sessions, version: "1", restart: host.restart });
  new Server({ host, services, port: 8080, title: "micro" });
  const token = await access.signIn("id", "api-key", "key");
  return { host, machine, token };
}

function post(path: string, body: Uint8Array, headers: readonly string[] = []): Uint8Array {
  const head = [`POST ${path} HTTP/1.1`, `content-length: ${body.length}`, ...headers];
  return concat([utf8(`${head.join("\r\n")}\r\n\r\n`), body]);
}

const json = "content-type: application/json";
const READINGS = "/viam.component.sensor.v1.SensorService/GetReadings";

async function ask(host: FakeHost, request: Uint8Array, pieces = 1): Promise<string> {
  const { events, written } = host.dial();
  for (let i = 0; i < pieces; i++) {
    const [from, to] = [i, i + 1].map((n) => Math.floor(n * request.length / pieces));
    if (to !== from) events?.onData(request.slice(from, to));
  }
  await turns();
  return fromUtf8(concat([...written, new Uint8Array(0)]));
}

Deno.test("Server answers a call in however many pieces it arrives", async () => {
  const { host, token } = await served();
  const request = post(READINGS, utf8('{"name":"fake"}'), [json, `authorization: Bearer ${token}`]);
  for (const pieces of [1, 2, 7, request.length]) {
    assert.match(await ask(host, request, pieces), /200 OK[^]*"readings":{"a":1,"b":2,"c":3}/);
  }
});

Deno.test("Server refuses callers before it takes a large body of theirs", async () => {
  const { host, token } = await served();
  const large = new Uint8Array(40_000);
  const { events, written, over } = host.dial();
  events?.onData(post(READINGS, large, [json]).subarray(0, 200));
  await turns();
  assert.match(fromUtf8(concat(written)), /401[^]*authentication required/);
  assert.ok(over(), "the connection is closed");
  assert.match(
    await ask(host, post(READINGS, large, [json, `authorization: Bearer ${token}`])),
    /413/,
  );
  const forged = token.slice(0, -2) + (token.endsWith("AA") ? "BB" : "AA");
  const small = utf8('{"name":"fake"}');
  assert.match(
    await ask(host, post(READINGS, small, [json, `authorization: Bearer ${forged}`])),
    /401/,
  );
});

Deno.test("Server lets an operator use resources, and not shut the machine down", async () => {
  const { host, token } = await served();
  const signed = [json, `authorization: Bearer ${token}`];
  const path = "/viam.robot.v1.RobotService";
  assert.match(await ask(host, post(`${path}/Shutdown`, utf8("{}"), signed)), /permission_denied/);
  assert.equal(host.restarts, 0);
  assert.match(await ask(host, post(`${path}/StopAll`, utf8("{}"), signed)), /200 OK/);
  assert.match(await ask(host, post(`${path}/Tunnel`, utf8("{}"), signed)), /unimplemented/);
});

Deno.test("an exception in a driver ends the call only", async () => {
  const { host, machine, token } = await served();
  const signed = [json, `authorization: Bearer ${token}`];
  const resource = machine.graph.find("rdk:component:sensor", "fake");
  assert.ok(resource);
  Object.assign(resource, {
    getReadings: () => {
      // As the engine does.
      throw null;
    },
  });
  const request = post(READINGS, utf8('{"name":"fake"}'), signed);
  assert.match(await ask(host, request), /unknown[^]*out of memory/);
  Object.assign(resource, { getReadings: () => ({ readings: { ok: 1 } }) });
  assert.match(await ask(host, request), /"ok":1/);
});

Deno.test("Server closes what speaks TLS at once, and idle connections for new ones", async () => {
  const { host } = await served();
  const tls = host.dial();
  tls.events?.onData(Uint8Array.of(0x16, 3, 1, 0, 200));
  assert.ok(tls.over());
  const many = Array.from({ length: 20 }, () => host.dial());
  assert.ok(many.every(({ events }) => events !== undefined));
  assert.equal(many.filter(({ over }) => !over()).length, 6);
  await host.advance(30_000);
  assert.equal(many.filter(({ over }) => !over()).length, 0, "they said nothing for 10 s");
});

Deno.test("10,000 connections with damaged packets leave the machine as it was", async () => {
  const { host, token } = await served();
  const signed = [`authorization: Bearer ${token}`];
  const message = encode("viam.common.v1.GetReadingsRequest", { name: "fake" });
  const framed = concat([Uint8Array.of(0, 0, 0, 0, message.length), message]);
  const settings = Uint8Array.of(0, 0, 0, 4, 0, 0, 0, 0, 0);
  const headers = Uint8Array.of(0, 0, 3, 1, 5, 0, 0, 0, 1, 0x83, 0x86, 0x84);
  const samples = [
    post(READINGS, utf8('{"name":"fake"}'), [json, ...signed]),
    post(READINGS, framed, ["content-type: application/grpc-web+proto", ...signed]),
    post(READINGS, utf8('5\r\n{"a":\r\n0\r\n\r\n'), [
      json,
      "transfer-encoding: chunked",
      ...signed,
    ]),
    concat([PREFACE, settings, headers, settings]),
  ];
  let state = 12345;
  const random = (below: number) => (state = Math.imul(state, 1103515245) + 12345 >>> 0) % below;
  for (let round = 0; round < 10_000; round++) {
    const sample = samples[random(samples.length)] ?? new Uint8Array(0);
    const packet = sample.slice(0, random(4) === 0 ? random(sample.length) : sample.length);
    for (let k = random(6); k > 0; k--) packet[random(packet.length)] = random(256);
    const { events } = host.dial();
    assert.doesNotThrow(() => events?.onData(packet));
    if (round % 50 === 0) await turns();
    events?.onEnd();
  }
  await turns();
  const request = post(READINGS, utf8('{"name":"fake"}'), [json, ...signed]);
  assert.match(await ask(host, request), /"a":1/);
});

/** Bytes of frames of HTTP/2: type, flags and stream, with their payload. */
function frame(
  type: number,
  flags: number,
  id: number,
  payload: Uint8Array = new Uint8Array(0),
): Uint8Array {
  return encodeFrame(type, flags, id, payload);
}

const literal = (text: string) => concat([Uint8Array.of(text.length), utf8(text)]);

/** Headers of a call that needs no token, with more to come. */
const signIn = (id: number) =>
  frame(
    FrameType.headers,
    Flag.endHeaders,
    id,
    concat([
      Uint8Array.of(0x83, 0x04),
      literal("/proto.rpc.v1.AuthService/Authenticate"),
      Uint8Array.of(0),
      literal("content-type"),
      literal("application/grpc"),
    ]),
  );

Deno.test("calls that strangers begin and do not end keep nobody out", async () => {
  const { host, token } = await served();
  const holders = Array.from({ length: 6 }, () => {
    const { events } = host.dial();
    events?.onData(concat([PREFACE, frame(FrameType.settings, 0, 0), signIn(1)]));
    return events;
  });
  for (const events of holders) events?.onData(frame(FrameType.ping, 0, 0, new Uint8Array(8)));
  await host.advance(60_000);
  const request = post(READINGS, utf8('{"name":"fake"}'), [json, `authorization: Bearer ${token}`]);
  assert.match(await ask(host, request), /"a":1/);
});

Deno.test("a connection of somebody who signed in stays when strangers come", async () => {
  const { host, token } = await served();
  const request = post(READINGS, utf8('{"name":"fake"}'), [json, `authorization: Bearer ${token}`]);
  const mine = host.dial();
  mine.events?.onData(request);
  await turns();
  await host.advance(2000);
  for (let n = 0; n < 20; n++) host.dial();
  assert.ok(!mine.over());
});

Deno.test("a stranger has two calls at a time on a connection", async () => {
  const { host } = await served();
  const { events, written } = host.dial();
  events?.onData(concat([PREFACE, signIn(1), signIn(3), signIn(5)]));
  await turns();
  assert.match(fromUtf8(concat(written)), /one call after the other/);
});

Deno.test("frames that carry nothing end a connection, unless they come slowly", async () => {
  const floods = {
    data: frame(FrameType.data, 0, 1),
    padded: frame(FrameType.data, Flag.padded, 1, new Uint8Array(2).fill(1)),
    ping: frame(FrameType.ping, 0, 0, new Uint8Array(8)),
    settings: frame(FrameType.settings, 0, 0),
    priority: frame(FrameType.priority, 0, 1, new Uint8Array(5)),
    unknown: frame(0x42, 0, 0),
  };
  for (const [name, flood] of Object.entries(floods)) {
    const { host } = await served();
    const { events, over } = host.dial();
    events?.onData(concat([PREFACE, signIn(1)]));
    for (let n = 0; n < 5000 && !over(); n++) events?.onData(flood);
    assert.ok(over(), `a flood of ${name} ends`);
  }
  const { host } = await served();
  const { events, over } = host.dial();
  events?.onData(PREFACE);
  for (let n = 0; n < 1500; n++) {
    await host.advance(100);
    events?.onData(floods.ping);
  }
  assert.ok(!over(), "ten pings a second");
});

Deno.test("a frame of one byte more than the limit ends a connection, the largest one does not", async () => {
  for (const [size, ends] of [[16_384, false], [16_385, true]] as const) {
    for (const pieces of [1, 2]) {
      const { host } = await served();
      const { events, written, over } = host.dial();
      events?.onData(concat([PREFACE, signIn(1)]));
      const data = frame(FrameType.data, 0, 1, new Uint8Array(size));
      const middle = pieces === 1 ? 0 : size - 100;
      events?.onData(data.slice(0, middle));
      events?.onData(data.slice(middle));
      assert.equal(over(), ends, `${size} bytes in ${pieces} pieces`);
      const code = concat([...written]).at(-1);
      if (ends) assert.equal(code, ErrorCode.frameSizeError);
    }
  }
});
