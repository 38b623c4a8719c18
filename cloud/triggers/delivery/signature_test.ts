import assert from "node:assert/strict";
import { Webhook } from "standardwebhooks";
import { formatSigningSecret, signedHeaders } from "./signature.ts";

const secret = new Uint8Array(32).fill(7);
const other = new Uint8Array(32).fill(8);
const body = JSON.stringify({ name: "Zürich", n: 1 });

Deno.test("signedHeaders() is taken by the published library, with each of several secrets", () => {
  const headers = signedHeaders([secret, other], { id: "msg_1", at: new Date(), body });
  for (const key of [secret, other]) {
    assert.deepEqual(new Webhook(formatSigningSecret(key)).verify(body, headers), JSON.parse(body));
  }
});

Deno.test("signedHeaders() is refused for another secret, body, id and time", () => {
  const at = new Date();
  const headers = signedHeaders([secret], { id: "msg_1", at, body });
  const verify = (key: Uint8Array, text: string, changed: Record<string, string>) => () =>
    new Webhook(formatSigningSecret(key)).verify(text, { ...headers, ...changed });
  assert.throws(verify(other, body, {}));
  assert.throws(verify(secret, `${body} `, {}));
  assert.throws(verify(secret, body, { "webhook-id": "msg_2" }));
  const older = signedHeaders([secret], {
    id: "msg_1",
    at: new Date(at.getTime() - 600_000),
    body,
  });
  assert.throws(verify(secret, body, older));
});
