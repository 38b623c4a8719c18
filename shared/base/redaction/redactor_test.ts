import { deepEqual, equal, ok } from "node:assert/strict";
import { maskArgumentList } from "./arguments.ts";
import { Redactor } from "./redactor.ts";
import { isSecretKey } from "./secret_keys.ts";

Deno.test("isSecretKey() tells secrets from what only sounds like one", () => {
  const secrets = ["secret", "client_secret", "password", "hotspotPassword", "psk", "token"];
  const more = ["access_token", "authorization", "Authorization", "api_key", "apiKey", "key"];
  for (const key of [...secrets, ...more, "private-key", "credentials"]) ok(isSecretKey(key), key);
  for (const key of ["pwd", "db_pass", "sim_pin", "jwt", "ssh_key", "signing_key"]) {
    ok(isSecretKey(key), key);
  }
  const open = ["tls_key_file", "maintenance_allowed_key", "key_id", "keys", "tokenizer"];
  for (const key of [...open, "secret_name", "monkey", ""]) ok(!isSecretKey(key), key);
});

Deno.test("isSecretKey() looks at the value where a word means something else as well", () => {
  const secrets: [string, unknown][] = [["pin", "0815"], ["sim_pin", 4711], ["pass", "x"]];
  for (const [key, value] of [...secrets, ["pwd", "hunter2"]] as const) {
    ok(isSecretKey(key, value), key);
  }
  const open: [string, unknown][] = [["pin", "37"], ["pin", "GPIO17"], ["low_pass", 0.5]];
  for (const [key, value] of [...open, ["PWD", "/opt/machine"], ["pwd", "C:\\m"]] as const) {
    ok(!isSecretKey(key, value), `${key}: ${value}`);
  }
});

Deno.test("Redactor text() hides secrets in arguments and queries", () => {
  const redactor = new Redactor();
  const table: [text: string, shown: string][] = [
    ["run --password=hunter2 -v", "run --password=****** -v"],
    ["run --api-token abc.def --out x", "run --api-token ****** --out x"],
    ["run -pass 'a b' -n 3", "run -pass ****** -n 3"],
    ['["run","--token","abc"]', '["run","--token","******"]'],
    ["DB_PASSWORD=x PATH=/bin run", "DB_PASSWORD=****** PATH=/bin run"],
    ['signing_key="a b" z', "signing_key=****** z"],
    ["https://h/p?pwd=a&pass=b&jwt=c&n=1", "https://h/p?pwd=******&pass=******&jwt=******&n=1"],
    ["https://h/#id_token=a&state=b", "https://h/#id_token=******&state=b"],
    ["s3?X-Amz-Signature=ab&X-Amz-Date=1", "s3?X-Amz-Signature=******&X-Amz-Date=1"],
    ["s3?X-Amz-Security-Token=ab", "s3?X-Amz-Security-Token=******"],
    ["https://h/?ssh_key=a;pin=0815", "https://h/?ssh_key=******;pin=******"],
    ["the option --token is missing; give --token, or --key FILE", ""],
    ["pin=17 key=name low_pass=0.5 --pin 17 --tls-key-file x", ""],
    ["give --password to sign in", ""],
  ];
  for (const [text, shown] of table) equal(redactor.text(text), shown || text);
});

Deno.test("maskArgumentList() hides what follows the name of a secret", () => {
  const list = ["--token", "abc", "--token", "-v", "x", 3, "-pwd", "hunter2", "--pin", "37"];
  const shown = ["--token", "******", "--token", "-v", "x", 3, "-pwd", "******", "--pin", "37"];
  deepEqual(maskArgumentList(list), shown);
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
  const pieces = [
    "eyJ",
    "-eyJ",
    "bearer ",
    "authorization:",
    "://",
    "://a@",
    "?token=",
    "eyJa.",
    "a=",
    "--a ",
    "a-",
    "--",
  ];
  for (const piece of pieces) {
    // So long that what takes quadratic time or worse would not end.
    const text = piece.repeat(1024 * 1024 / piece.length);
    redactor.text(text);
  }
});
