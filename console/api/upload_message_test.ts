import { fromBinary, toBinary } from "@bufbuild/protobuf";
import { Code, ConnectError } from "@connectrpc/connect";
import assert from "node:assert/strict";
import {
  AddReleaseRequestSchema,
  AddReleaseResponseSchema,
  ReleaseService,
} from "../../shared/gen/machine/cloud/v1/releases_pb.ts";
import { create } from "@bufbuild/protobuf";
import { PIECE_BYTES, uploadAnswer, uploadBody } from "./upload_message.ts";

const { addRelease } = ReleaseService.method;

Deno.test("uploadBody() holds what follows, and the file in pieces", async () => {
  const contents = new Uint8Array(PIECE_BYTES + 3).map((_, at) => at % 251);
  const first = { piece: { case: "info" as const, value: { version: "1.2.3" } } };
  const body = new Uint8Array(
    await uploadBody(addRelease, first, 2, new Blob([contents])).arrayBuffer(),
  );
  const view = new DataView(body.buffer);
  const messages = [];
  for (let at = 0; at < body.length; at += 5 + view.getUint32(at + 1)) {
    const message = body.subarray(at + 5, at + 5 + view.getUint32(at + 1));
    messages.push(fromBinary(AddReleaseRequestSchema, message).piece);
  }
  assert.deepEqual(messages.map(({ case: which }) => which), ["info", "contents", "contents"]);
  const pieces = messages.flatMap((each) => each.case === "contents" ? [...each.value] : []);
  assert.deepEqual(Uint8Array.from(pieces), contents);
});

Deno.test("uploadAnswer() gives the answer, and throws what the cloud refused", () => {
  const message = toBinary(
    AddReleaseResponseSchema,
    create(AddReleaseResponseSchema, { release: { version: "1.2.3" } }),
  );
  const answer = [...framed(0, message), ...framed(2, new TextEncoder().encode("{}"))];
  assert.equal(uploadAnswer(addRelease, Uint8Array.from(answer)).release?.version, "1.2.3");
  const refused = new TextEncoder().encode(
    `{"error":{"code":"already_exists","message":"there is one"}}`,
  );
  const code = (bytes: readonly number[]) => {
    try {
      uploadAnswer(addRelease, Uint8Array.from(bytes));
    } catch (error) {
      return ConnectError.from(error).code;
    }
    return undefined;
  };
  assert.equal(code(framed(2, refused)), Code.AlreadyExists);
  for (const cut of [[], answer.slice(0, 3), answer.slice(0, 12), framed(0, message)]) {
    assert.equal(code(cut), Code.Unavailable, String(cut.length));
  }
});

function framed(flags: number, message: Uint8Array): number[] {
  return [flags, 0, 0, 0, message.length, ...message];
}
