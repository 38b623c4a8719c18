import assert from "node:assert/strict";
import {
  createRegistry,
  type DescMessage,
  fromBinary,
  fromJson as generalFromJson,
  type JsonValue,
  toBinary,
  toJson as generalToJson,
} from "@bufbuild/protobuf";
import { file_machine_cloud_v1_machine } from "../../../shared/gen/machine/cloud/v1/machine_pb.ts";
import { type Json, MESSAGES, type Messages } from "../../../shared/gen/micro/messages.ts";
import { file_proto_rpc_v1_auth } from "../../../shared/gen/proto/rpc/v1/auth_pb.ts";
import { file_viam_app_datasync_v1_data_sync } from "../../../shared/gen/viam/app/datasync/v1/data_sync_pb.ts";
import { file_viam_app_v1_robot } from "../../../shared/gen/viam/app/v1/robot_pb.ts";
import { file_viam_component_base_v1_base } from "../../../shared/gen/viam/component/base/v1/base_pb.ts";
import { file_viam_component_board_v1_board } from "../../../shared/gen/viam/component/board/v1/board_pb.ts";
import { file_viam_component_encoder_v1_encoder } from "../../../shared/gen/viam/component/encoder/v1/encoder_pb.ts";
import { file_viam_component_movementsensor_v1_movementsensor } from "../../../shared/gen/viam/component/movementsensor/v1/movementsensor_pb.ts";
import { file_viam_robot_v1_robot } from "../../../shared/gen/viam/robot/v1/robot_pb.ts";
import { decode, encode, encodeMessage, type Fields, type Input } from "./codec.ts";
import { type Field, fieldsOf } from "./fields.ts";
import { fromJson, toJson } from "./json.ts";
import { WireError } from "./wire.ts";

const registry = createRegistry(
  file_machine_cloud_v1_machine,
  file_proto_rpc_v1_auth,
  file_viam_app_datasync_v1_data_sync,
  file_viam_app_v1_robot,
  file_viam_component_base_v1_base,
  file_viam_component_board_v1_board,
  file_viam_component_encoder_v1_encoder,
  file_viam_component_movementsensor_v1_movementsensor,
  file_viam_robot_v1_robot,
);

/** Messages that the registry knows, with what the general library makes of their JSON. */
const known = (Object.keys(MESSAGES) as (keyof Messages)[]).flatMap((name) => {
  const schema = registry.getMessage(name);
  return schema ? [{ name, schema }] : [];
});

/** A generator of the same numbers in each run (mulberry32). */
function numbers(seed: number): () => number {
  let state = seed;
  return () => {
    state = state + 0x6d2b79f5 | 0;
    let mixed = Math.imul(state ^ state >>> 15, 1 | state);
    mixed = mixed + Math.imul(mixed ^ mixed >>> 7, 61 | mixed) ^ mixed;
    return ((mixed ^ mixed >>> 14) >>> 0) / 4294967296;
  };
}

function randomJson(random: () => number, depth: number): Json {
  const kind = Math.floor(random() * (depth > 2 ? 4 : 6));
  if (kind === 0) return null;
  if (kind === 1) return random() < 0.5;
  if (kind === 2) return Math.round(random() * 1e6) / 64 - 4000;
  if (kind === 3) return randomText(random);
  const size = Math.floor(random() * 4);
  const items = Array.from({ length: size }, () => randomJson(random, depth + 1));
  return kind === 4 ? items : Object.fromEntries(items.map((one, i) => [`k${i}é`, one]));
}

function randomText(random: () => number): string {
  return Array.from(
    { length: Math.floor(random() * 12) },
    () => ["a", "Z", "é", "€", "😀", "\n", '"', "\u0000"][Math.floor(random() * 8)],
  ).join("");
}

function randomValue(random: () => number, field: Field, depth: number): unknown {
  const integer = (low: number, high: number) => low + Math.floor(random() * (high - low + 1));
  switch (field.kind) {
    case "s":
      return randomText(random);
    case "b":
      return random() < 0.5;
    case "y":
      return Uint8Array.from({ length: integer(0, 20) }, () => integer(0, 255));
    case "d":
      return random() * 1e9 - 5e8;
    case "f":
      return Math.fround(random() * 100);
    case "e":
      return integer(0, 1);
    case "i":
      return integer(-(2 ** 31), 2 ** 31 - 1);
    case "u":
      return integer(0, 2 ** 32 - 1);
    case "l":
      return integer(-(2 ** 52), 2 ** 52);
    case "U":
      return integer(0, 2 ** 53 - 1);
    case "m":
      return randomMessage(random, field.of, depth + 1);
    case "S":
      return { a: randomJson(random, 0), "b€": randomJson(random, 0) };
    case "V":
      return randomJson(random, 0);
    case "T":
      return integer(0, 4e12);
    case "D":
      return integer(-1e8, 1e8);
  }
}

function randomMessage(random: () => number, name: string, depth = 0): Record<string, unknown> {
  const message: Record<string, unknown> = {};
  const oneof = name === "viam.app.datasync.v1.SensorData" ? "binary" : undefined;
  const event = name === "machine.cloud.v1.WatchResponse" ? Math.floor(random() * 5) : undefined;
  for (const [i, field] of fieldsOf(name).entries()) {
    if (field.name === oneof || event !== undefined && event !== i) continue;
    if (field.label === "optional" && (depth > 3 || random() < 0.3)) continue;
    const many = () => Array.from({ length: depth > 3 ? 0 : Math.floor(random() * 4) });
    if (field.label === "list") {
      message[field.name] = many().map(() => randomValue(random, field, depth));
    } else if (field.label === "map") {
      message[field.name] = Object.fromEntries(
        many().map((_, i) => [`k${i}`, randomValue(random, field, depth)]),
      );
    } else message[field.name] = randomValue(random, field, depth);
  }
  return message;
}

const bytesOf = (schema: DescMessage, json: JsonValue) =>
  toBinary(schema, generalFromJson(schema, json, { registry }));

Deno.test("the codec knows the messages that the general library is compared with", () => {
  assert.ok(known.length > 100, `${known.length}`);
});

Deno.test("encode(), decode() and JSON agree with the general library for random messages", () => {
  const random = numbers(7);
  for (let round = 0; round < 40; round++) {
    for (const { name, schema } of known) {
      const message = randomMessage(random, name) as Input<Messages[typeof name]>;
      const bytes = encode(name, message);
      const theirs = fromBinary(schema, bytes);
      const json = generalToJson(schema, theirs, { registry });
      const again = toBinary(schema, theirs);
      const decoded = decode(name, again);
      assert.deepEqual(encode(name, decoded), bytes, name);
      assert.deepEqual(
        bytesOf(schema, toJson(name, decoded as unknown as Fields) as JsonValue),
        again,
        name,
      );
      assert.deepEqual(encodeMessage(name, fromJson(name, json as Json)), bytes, name);
    }
  }
});

Deno.test("decode() gives every plain field its zero value", () => {
  assert.deepEqual(decode("viam.common.v1.ResourceName", new Uint8Array(0)), {
    namespace: "",
    type: "",
    subtype: "",
    name: "",
  });
});

Deno.test("decode() of random bytes gives a message or a WireError", () => {
  const random = numbers(11);
  let refused = 0;
  for (let round = 0; round < 10_000; round++) {
    const { name } = known[Math.floor(random() * known.length)] ?? { name: undefined };
    assert.ok(name);
    const message = encode(name, randomMessage(random, name) as Input<Messages[typeof name]>);
    const bytes = message.slice(0, Math.ceil(random() * message.length));
    for (let k = 0; k < 3 && bytes.length > 0; k++) {
      bytes[Math.floor(random() * bytes.length)] = Math.floor(random() * 256);
    }
    try {
      decode(name, bytes);
    } catch (error) {
      assert.ok(error instanceof WireError, String(error));
      refused++;
    }
  }
  assert.ok(refused > 1000);
});

Deno.test("decode() refuses values nested without end, and keeps prototypes as they are", () => {
  let nested = new Uint8Array([8, 0]);
  for (let i = 0; i < 200; i++) {
    const list = new Uint8Array([10, nested.length & 127 | 128, nested.length >> 7, ...nested]);
    nested = new Uint8Array([50, list.length & 127 | 128, list.length >> 7, ...list]);
  }
  const entry = new Uint8Array([10, 1, 97, 18, nested.length & 127 | 128, nested.length >> 7]);
  const struct = new Uint8Array([...entry, ...nested]);
  const command = [struct.length & 127 | 128, struct.length >> 7, ...struct];
  const inner = new Uint8Array([10, ...command]);
  const bytes = new Uint8Array([18, inner.length & 127 | 128, inner.length >> 7, ...inner]);
  assert.throws(() => decode("viam.common.v1.DoCommandRequest", bytes), /levels/);

  const command2 = JSON.parse('{"__proto__": {"polluted": true}}');
  const poisoned = encode("viam.common.v1.DoCommandRequest", { name: "a", command: command2 });
  const decoded = decode("viam.common.v1.DoCommandRequest", poisoned);
  assert.equal((decoded.command as Record<string, unknown>)["polluted"], undefined);
});

Deno.test("fromJson() names the field that is wrong", () => {
  assert.throws(
    () => fromJson("viam.component.servo.v1.MoveRequest", { angleDeg: "x" }),
    /viam.component.servo.v1.MoveRequest.angleDeg must be a number/,
  );
  assert.deepEqual(
    fromJson("viam.component.servo.v1.MoveRequest", { angle_deg: 90 })["angleDeg"],
    90,
  );
});
