import assert from "node:assert/strict";
import { readS3Settings } from "./s3_settings.ts";

const KEYS = { AWS_ACCESS_KEY_ID: "id", AWS_SECRET_ACCESS_KEY: "never-shown" };

function read(text: string, env: Readonly<Record<string, string>> = KEYS) {
  return readS3Settings(text, (name) => env[name]);
}

Deno.test("readS3Settings() reads the place, and the variables that other tools read", () => {
  const cases: [string, Record<string, string>, string, string][] = [
    ["s3://box", {}, "https://box.s3.us-east-1.amazonaws.com/", ""],
    ["s3://box/", { AWS_REGION: "eu-west-1" }, "https://box.s3.eu-west-1.amazonaws.com/", ""],
    ["s3://a.b/x/y/", {}, "https://s3.us-east-1.amazonaws.com/a.b/", "x/y/"],
    ["s3://box/x", { AWS_ENDPOINT_URL: "http://h:9000" }, "http://h:9000/box/", "x/"],
    [
      "s3://box",
      { AWS_ENDPOINT_URL: "http://h", AWS_ENDPOINT_URL_S3: "https://s3.example/" },
      "https://s3.example/box/",
      "",
    ],
  ];
  for (const [text, env, baseUrl, prefix] of cases) {
    const settings = read(text, { ...KEYS, ...env });
    assert.deepEqual([settings.baseUrl, settings.prefix], [baseUrl, prefix], text);
  }
  assert.equal(read("s3://box").secretAccessKey.reveal(), "never-shown");
  assert.doesNotMatch(Deno.inspect(read("s3://box")) + JSON.stringify(read("s3://box")), /never/);
});

Deno.test("readS3Settings() says what is wrong, and repeats no secret", () => {
  const cases: [string, Record<string, string>, RegExp][] = [
    ["https://box", KEYS, /^--blob-store: "https:..box" is no place in an object storage; write/],
    ["s3://Box", KEYS, /write s3:\/\/BUCKET or s3:\/\/BUCKET\/PREFIX/],
    ["s3://box/a b", KEYS, /^--blob-store: "a b" cannot begin the names of objects/],
    ["s3://box/../x", KEYS, /cannot begin/],
    ["s3://box//x", KEYS, /cannot begin/],
    ["s3://box", {}, /^--blob-store: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY/],
    ["s3://box", { ...KEYS, AWS_REGION: "a/b" }, /^AWS_REGION: "a\/b" is no region/],
    ["s3://box", { ...KEYS, AWS_ENDPOINT_URL: "http://u:never-shown@h" }, /^AWS_ENDPOINT_URL_S3: /],
    ["s3://box", { ...KEYS, AWS_ENDPOINT_URL: "host:9000" }, /write https:/],
  ];
  for (const [text, env, expected] of cases) {
    assert.throws(() => read(text, env), (error) => {
      assert.ok(error instanceof Error);
      assert.match(error.message, expected);
      assert.doesNotMatch(error.message, /never-shown/);
      return true;
    }, text);
  }
});
