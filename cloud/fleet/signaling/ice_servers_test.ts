import assert from "node:assert/strict";
import { FakeClock } from "../../../shared/base/time/fake_clock.ts";
import { IceServersError, readIceServers } from "./ice_server_list.ts";
import { iceServersFor } from "./ice_servers.ts";

async function read(content: unknown): ReturnType<typeof readIceServers> {
  const path = await Deno.makeTempFile({ prefix: "ice-servers-" });
  try {
    await Deno.writeTextFile(path, typeof content === "string" ? content : JSON.stringify(content));
    return await readIceServers(path);
  } finally {
    await Deno.remove(path);
  }
}

Deno.test("readIceServers() reads STUN, TURN with a password and TURN with a secret", async () => {
  const list = [
    { urls: "stun:stun.example.com:3478" },
    {
      urls: ["turn:a.example.com", "turns:a.example.com:443?transport=tcp"],
      username: "u",
      credential: "c",
    },
    { urls: ["turn:b.example.com"], secret: "s" },
    { urls: ["turn:b.example.com"], secret: "s", lifetime_seconds: 600 },
  ];
  assert.deepEqual(await read(list), [
    { urls: ["stun:stun.example.com:3478"] },
    list[1],
    { urls: ["turn:b.example.com"], secret: "s", lifetimeSeconds: 86_400 },
    { urls: ["turn:b.example.com"], secret: "s", lifetimeSeconds: 600 },
  ]);
});

Deno.test("readIceServers() says what is wrong and where, without the secrets in it", async () => {
  const turn = { urls: ["turn:t.example.com"] };
  const wrong: [unknown, RegExp][] = [
    ['[{"secret": "hunter2"', /is no JSON$/],
    [{ urls: [] }, /expected array/],
    [[{ urls: ["http://t.example.com"] }], /\[0\]\["urls"\]/],
    [[{ urls: [] }], /\[0\]\["urls"\]/],
    [[turn], /\[0\]: a TURN server needs username and credential, or the secret/],
    [[{ ...turn, username: "u" }], /username and credential go together/],
    [[{ ...turn, username: "u", credential: "c", secret: "hunter2" }], /leave username and cred/],
    [[{ urls: ["stun:s.example.com"], lifetime_seconds: 600 }], /goes with a secret/],
    [[{ ...turn, secret: "hunter2", lifetime_seconds: 1 }], /\[0\]\["lifetime_seconds"\]/],
    [[{ ...turn, password: "hunter2" }], /\[0\]: Unrecognized key/],
  ];
  for (const [content, expected] of wrong) {
    await assert.rejects(() => read(content), (error) => {
      assert.ok(error instanceof IceServersError);
      assert.match(error.message, expected);
      assert.doesNotMatch(error.message, /hunter2/);
      return true;
    });
  }
  await assert.rejects(() => readIceServers("/nowhere/at-all.json"), /nowhere\/at-all\.json/);
});

Deno.test("iceServersFor() makes credentials that run out, as coturn checks them", () => {
  const clock = new FakeClock("2026-01-02T03:04:05Z");
  const setting = { urls: ["turn:t.example.com"], secret: "north", lifetimeSeconds: 600 };
  const plain = { urls: ["stun:s.example.com"] };
  // printf 1767323645:key-1 | openssl dgst -sha1 -hmac north -binary | base64
  assert.deepEqual(iceServersFor([plain, setting], "key-1", clock), [
    plain,
    {
      urls: ["turn:t.example.com"],
      username: "1767323645:key-1",
      credential: "z5wAgjUN7bj+V30f7r7bLrR+mNg=",
    },
  ]);
});
