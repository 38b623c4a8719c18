import assert from "node:assert/strict";
import { Code, ConnectError } from "@connectrpc/connect";
import { decodeSdp, encodeSdp, MAX_SDP_CHARS } from "./sdp.ts";

Deno.test("decodeSdp() gives back what encodeSdp() was given", () => {
  const description = { type: "offer", sdp: "v=0\r\no=- 1 2 IN IP4 127.0.0.1\r\ns=ü\r\n" } as const;
  assert.deepEqual(decodeSdp(encodeSdp(description)), description);
});

Deno.test("decodeSdp() takes what other SDKs add", () => {
  const text = btoa(JSON.stringify({ type: "answer", sdp: "v=0", extra: [1] }));
  assert.deepEqual(decodeSdp(text), { type: "answer", sdp: "v=0" });
});

Deno.test("decodeSdp() refuses what is no description", () => {
  const json = (value: unknown) => btoa(JSON.stringify(value));
  const wrong = [
    ["", "the sdp is missing"],
    ["%%%", "not base64 of JSON"],
    [btoa("{"), "not base64 of JSON"],
    [json(null), 'its "type"'],
    [json({ type: "rollback", sdp: "" }), 'its "type"'],
    [json({ type: "offer", sdp: 7 }), 'its "sdp" is no text'],
    ["x".repeat(MAX_SDP_CHARS + 1), "characters; at most"],
  ] as const;
  for (const [text, expected] of wrong) {
    assert.throws(() => decodeSdp(text), (error) => {
      assert.ok(error instanceof ConnectError);
      assert.equal(error.code, Code.InvalidArgument);
      assert.ok(error.message.includes(expected), `${text.slice(0, 20)}: ${error.message}`);
      return true;
    });
  }
});
