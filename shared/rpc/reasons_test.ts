import { Code, ConnectError } from "@connectrpc/connect";
import assert from "node:assert/strict";
import { ErrorInfoSchema } from "../gen/google/rpc/error_details_pb.ts";
import { addDetails, statusMessage } from "./client/grpc_status.ts";
import { reasonOf, refusal } from "./reasons.ts";

Deno.test("a reason and its values come through a status, and the message stays for people", () => {
  const sent = refusal("PASSWORD_SHORT", { least: 8 }, "it is too short", Code.InvalidArgument);
  assert.deepEqual(reasonOf(sent), { reason: "PASSWORD_SHORT", values: { least: "8" } });
  const came = new ConnectError(sent.rawMessage, sent.code);
  addDetails(came, statusMessage(sent));
  assert.deepEqual(reasonOf(came), { reason: "PASSWORD_SHORT", values: { least: "8" } });
  assert.equal(came.rawMessage, "it is too short");
});

Deno.test("reasonOf() takes reasons of this domain that it knows", () => {
  const of = (reason: string, domain: string) =>
    reasonOf(
      new ConnectError("no", Code.Internal, undefined, [
        { desc: ErrorInfoSchema, value: { reason, domain } },
      ]),
    );
  assert.equal(of("NAME_TAKEN", "machine-cloud")?.reason, "NAME_TAKEN");
  assert.equal(of("NAME_TAKEN", "example.com"), undefined);
  assert.equal(of("constructor", "machine-cloud"), undefined);
  assert.equal(reasonOf(new ConnectError("no", Code.Internal)), undefined);
});
