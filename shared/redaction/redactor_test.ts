import { equal, ok } from "node:assert/strict";
import { Redactor } from "./redactor.ts";
import { isSecretKey } from "./secret_keys.ts";

Deno.test("isSecretKey() tells secrets from what only sounds like one", () => {
  const secrets = ["secret", "client_secret", "password", "hotspotPassword", "psk", "token"];
  const more = ["access_token", "authorization", "Authorization", "api_key", "apiKey", "key"];
  for (const key of [...secrets, ...more, "private-key", "credentials"]) ok(isSecretKey(key), key);
  const open = ["tls_key_file", "maintenance_allowed_key", "key_id", "keys", "tokenizer"];
  for (const key of [...open, "secret_name", "monkey", ""]) ok(!isSecretKey(key), key);
});

Deno.test("Redactor text() hides what is a secret by its form", () => {
  const redactor = new Redactor();
  const jwt = "eyJhbGciOiJFZERTQSJ9.eyJzdWIiOiJhIn0.c2lnbmF0dXJl";
  const table: [text: string, shown: string][] = [
    ["rtsp://user:pw@cam.lan/x is away", "rtsp://******@cam.lan/x is away"],
    ["GET https://h/p?a=1&token=abc&b=2", "GET https://h/p?a=1&token=******&b=2"],
    ["https://h/?API_KEY=abc.", "https://h/?API_KEY=******"],
    ["sent authorization: Bearer abcdef", "sent authorization: ******"],
    ['{"Authorization":"Basic dXNlcjpwYXNz","x":1}', '{"Authorization":"******","x":1}'],
    ["with Bearer 0123456789abcdef here", "with Bearer ****** here"],
    [`token ${jwt}, please`, "token ******, please"],
    ["no bearer token was sent", "no bearer token was sent"],
    ["https://h/a@b is no user", "https://h/a@b is no user"],
    ["a = b & c", "a = b & c"],
  ];
  for (const [text, shown] of table) equal(redactor.text(text), shown);
});

Deno.test("Redactor text() hides known values, the longest first, and short ones never", () => {
  const redactor = new Redactor();
  redactor.setKnown(["s3cr$t.", "s3cr$t.longer", "abc"]);
  equal(
    redactor.text("a s3cr$t.longer b s3cr$t. c abc s3crXtX"),
    "a ****** b ****** c abc s3crXtX",
  );
  redactor.setKnown([]);
  equal(redactor.text("s3cr$t.longer"), "s3cr$t.longer");
});

Deno.test("Redactor text() takes time in proportion to the text, however it is made", () => {
  const redactor = new Redactor();
  const pieces = ["eyJ", "-eyJ", "bearer ", "authorization:", "://", "://a@", "?token=", "eyJa."];
  for (const piece of pieces) {
    const text = piece.repeat(64 * 1024 / piece.length);
    const started = performance.now();
    redactor.text(text);
    ok(performance.now() - started < 500, piece);
  }
});
