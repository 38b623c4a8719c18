/** A message of many small values costs far more than its bytes, decoded. */
import { create, fromBinary, toBinary } from "@bufbuild/protobuf";
import { StructSchema, ValueSchema } from "@bufbuild/protobuf/wkt";
import { Code, ConnectError, createClient, type Transport } from "@connectrpc/connect";
import assert from "node:assert/strict";
import { GetReadingsRequestSchema } from "../gen/viam/common/v1/common_pb.ts";
import { SensorService } from "../gen/viam/component/sensor/v1/sensor_pb.ts";
import { FlatTensorDataFloatSchema } from "../gen/viam/service/mlmodel/v1/mlmodel_pb.ts";
import { openForwardChannel } from "./client/forward.ts";
import { checkJsonValues, checkValues, MOST_VALUES } from "./message_values.ts";
import { serveEcho } from "./data_channel/testing.ts";
import { createDataChannelTransport } from "./data_channel/transport.ts";
import { RpcRouter } from "./server/router.ts";
import { GET_READINGS, post, withGrpc, withServer } from "./testing.ts";

const utf8 = new TextEncoder();

function length(of: number): number[] {
  const bytes = [];
  for (; of > 127; of >>>= 7) bytes.push(of & 127 | 128);
  return [...bytes, of];
}

function field(number: number, content: Uint8Array): Uint8Array {
  const head = [...length(number << 3 | 2), ...length(content.length)];
  const bytes = new Uint8Array(head.length + content.length);
  bytes.set(head);
  bytes.set(content, head.length);
  return bytes;
}

function concat(...parts: Uint8Array[]): Uint8Array<ArrayBuffer> {
  return new Uint8Array(parts.flatMap((part) => [...part]));
}

/** A request for readings with a list of so many empty values in `extra`. */
function wide(values: number): Uint8Array<ArrayBuffer> {
  const list = new Uint8Array(2 * values).map((_, at) => at % 2 === 0 ? 0x0a : 0);
  const entry = concat(field(1, utf8.encode("a")), field(2, field(6, list)));
  return concat(field(1, utf8.encode("s")), field(99, field(1, entry)));
}

/** Calls for readings with a request that is encoded already. */
async function sent(transport: Transport, request: Uint8Array): Promise<unknown> {
  const extra = fromBinary(GetReadingsRequestSchema, request).extra!;
  return await createClient(SensorService, transport).getReadings({ name: "s", extra });
}

const tooMany = (error: unknown) =>
  error instanceof ConnectError && error.code === Code.ResourceExhausted &&
  /more than 262144 values/.test(error.message);

Deno.test("messages have 262,144 values at most, wherever they stand in it", () => {
  assert.throws(() => checkValues(GetReadingsRequestSchema, wide(MOST_VALUES)), tooMany);
  checkValues(GetReadingsRequestSchema, wide(MOST_VALUES - 10));
  const unknown = new Uint8Array(2 * MOST_VALUES + 2).map((_, at) => at % 2 === 0 ? 0x78 : 0);
  assert.throws(() => checkValues(StructSchema, unknown), tooMany, "fields nobody knows");
});

Deno.test("a tensor and a text of 30 MB are few values", () => {
  const tensor = create(FlatTensorDataFloatSchema, { data: new Array(7_500_000).fill(1) });
  checkValues(FlatTensorDataFloatSchema, toBinary(FlatTensorDataFloatSchema, tensor));
  const text = field(1, new Uint8Array(30_000_000).fill(0x0a));
  checkValues(GetReadingsRequestSchema, text);
  checkJsonValues(utf8.encode(JSON.stringify({ name: ',[{\\"'.repeat(1_000_000) })));
});

Deno.test("what is no message is left to its decoder", () => {
  for (const byte of [0, 0xff, 0x0b, 0x0a]) {
    const bytes = new Uint8Array(1_100_000).fill(byte);
    try {
      checkValues(StructSchema, bytes);
    } catch (error) {
      assert.ok(tooMany(error));
    }
  }
  checkJsonValues(utf8.encode(`{"${" ".repeat(MOST_VALUES)}`));
});

Deno.test("a call with too many values is refused over every protocol, before it is decoded", async () => {
  await withGrpc({}, async (transport, url) => {
    const proto = wide(MOST_VALUES);
    const json = utf8.encode(`{"name":"s","extra":{"a":[${"0,".repeat(MOST_VALUES)}0]}}`);
    const frame = concat(Uint8Array.of(0), new Uint8Array(4), proto);
    new DataView(frame.buffer).setUint32(1, proto.length);
    const ask = async (type: string, body: Uint8Array<ArrayBuffer>) => {
      const answer = await fetch(`${url}/${GET_READINGS}`, {
        method: "POST",
        headers: { "content-type": `application/${type}` },
        body,
      });
      return `${await answer.text()} ${answer.headers.get("grpc-message")}`;
    };
    const refused = /more than 262144 values/;
    assert.match(await ask("proto", proto), refused);
    assert.match(await ask("json", json), refused);
    assert.match(decodeURIComponent(await ask("grpc-web+proto", frame)), refused);
    await assert.rejects(sent(transport, proto), tooMany);
  });
  await withServer({}, async (url) => {
    assert.equal((await post(url, GET_READINGS, '{"name":"s"}')).status, 200);
  });
});

/** A sensor whose readings named `many` have too many values. */
function manyValues(): RpcRouter {
  const value = create(ValueSchema, { kind: { case: "nullValue", value: 0 } });
  const kind = {
    case: "listValue",
    value: { values: new Array(MOST_VALUES).fill(value) },
  } as const;
  return new RpcRouter().service(SensorService, {
    getReadings: ({ name }) => ({ readings: name === "many" ? { list: { kind } } : {} }),
  });
}

async function refusesMany(transport: Transport): Promise<void> {
  const sensor = createClient(SensorService, transport);
  await assert.rejects(sensor.getReadings({ name: "many" }), tooMany);
  assert.deepEqual((await sensor.getReadings({ name: "few" })).readings, {});
}

Deno.test("a remote or a module that answers with too many values fails its call", async () => {
  await withServer({ router: manyValues() }, async (url) => {
    const channel = openForwardChannel({ address: url });
    await refusesMany(channel.transport);
    channel.close();
  });
});

Deno.test("a machine that answers with too many values over a data channel fails its call", async () => {
  const { client } = serveEcho({ router: manyValues() });
  await refusesMany(createDataChannelTransport(client));
});
