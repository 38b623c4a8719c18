import assert from "node:assert/strict";
import { Code, ConnectError } from "@connectrpc/connect";
import { toCallFailure } from "../database/call_failures.ts";
import { statementFailure } from "./failures.ts";

/** What callers see of each code of PostgreSQL; undefined: it is a fault of the cloud. */
const OF_SERVER: readonly (readonly [Code | undefined, readonly string[]])[] = [
  // The connection; who may connect, and to what; stopping, crashed, starting, dropped; its files.
  [Code.Unavailable, ["08000", "08001", "08003", "08004", "08006", "08P01"]],
  [Code.Unavailable, ["28000", "28P01", "3D000"]],
  [Code.Unavailable, ["57P01", "57P02", "57P03", "57P04", "57P05"]],
  [Code.Unavailable, ["58000", "58030", "58P01"]],
  // Read-only as a standby is; conflicts; connections and memory; its state; locks and time.
  [Code.Unavailable, ["25006", "25P02", "25P03", "40001", "40003", "40P01"]],
  [Code.Unavailable, ["53000", "53200", "53300", "53400"]],
  [Code.Unavailable, ["55000", "55006", "55P03", "57000", "57014"]],
  [Code.ResourceExhausted, ["53100"]],
  [Code.InvalidArgument, ["22021", "22P05"]],
  [undefined, ["22003", "23505", "23503", "42601", "42P01", "P0001", "XX000", "XX001", "XX002"]],
];

/** What the library or the system says where the server says nothing. */
const OF_CONNECTION: readonly Error[] = [
  ...[
    "Connection terminated unexpectedly",
    "Connection terminated",
    "Connection terminated due to connection timeout",
    "Client has encountered a connection error and is not queryable",
    "Client was closed and is not queryable",
    "timeout exceeded when trying to connect",
    "timeout expired",
    "Query read timeout",
    "Cannot use a pool after calling end on the pool",
  ].map((text) => new Error(text)),
  ...["ECONNRESET", "ECONNREFUSED", "EPIPE", "ETIMEDOUT", "EHOSTUNREACH", "ENOTFOUND", "EAI_AGAIN"]
    .map((code) => Object.assign(new Error(`connect ${code}`), { code })),
  new AggregateError([Object.assign(new Error("connect ECONNREFUSED ::1"), { code: "X" })]),
];

Deno.test("callers repeat what a server that stops, died or was demoted refused", () => {
  for (const [expected, codes] of OF_SERVER) {
    for (const code of codes) {
      const error = Object.assign(new Error(code), { severity: "ERROR", code });
      const seen = toCallFailure(statementFailure(error));
      const found = seen instanceof ConnectError ? seen.code : undefined;
      assert.equal(found && Code[found], expected && Code[expected], code);
      if (expected === undefined) assert.equal(seen, error);
    }
  }
  const text = "cannot assign TransactionIds during recovery";
  const ofStandby = Object.assign(new Error(text), { severity: "ERROR", code: "XX000" });
  for (const error of [...OF_CONNECTION, ofStandby]) {
    const seen = toCallFailure(statementFailure(error));
    assert.ok(seen instanceof ConnectError, error.message);
    assert.equal(seen.code, Code.Unavailable, error.message);
    assert.match(seen.message, /cannot be reached\. Try again/);
  }
});
