import assert from "node:assert/strict";
import { create, toBinary } from "@bufbuild/protobuf";
import { type LogEntry, LogEntrySchema } from "../gen/viam/common/v1/common_pb.ts";
import { decodeEntries, encodeEntries } from "./entry_codec.ts";

const entryOf = (message: string): LogEntry =>
  create(LogEntrySchema, {
    host: "h",
    level: "info",
    time: { seconds: 1_700_000_000n, nanos: 5 },
    message,
  });
const entries = ["", "one", "x".repeat(100), "y".repeat(200), "z".repeat(20_000), "ü".repeat(9)]
  .map(entryOf);

Deno.test("encodeEntries() gives each entry the bytes that it has alone", () => {
  const encoded = encodeEntries(entries);
  assert.deepEqual(
    encoded.map((bytes) => [...bytes]),
    entries.map((entry) => [...toBinary(LogEntrySchema, entry)]),
  );
  assert.deepEqual(encodeEntries([]), []);
  assert.deepEqual(encodeEntries([create(LogEntrySchema)]).map(({ length }) => length), [0]);
});

Deno.test("decodeEntries() gives the entries back, and none for one that is damaged", () => {
  const encoded = encodeEntries(entries);
  assert.deepEqual(decodeEntries(encoded), entries);
  assert.deepEqual(decodeEntries([]), []);
  const [first = new Uint8Array(), ...rest] = encoded;
  const damaged = Uint8Array.of(0x0a, 0x7f, 0x41);
  assert.deepEqual(decodeEntries([first, damaged, ...rest]), [
    entries[0],
    undefined,
    ...entries.slice(1),
  ]);
});
