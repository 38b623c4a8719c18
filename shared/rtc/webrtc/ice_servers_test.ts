import assert from "node:assert/strict";
import { readIceServers } from "./ice_servers.ts";

Deno.test("readIceServers() reads addresses with and without port, of names and of numbers", () => {
  const { stun, turn, problems } = readIceServers([
    { urls: ["stun:stun.example.com", "stun:10.0.0.1:19302", "stun:[2001:db8::1]:1"] },
    {
      urls: ["turn:turn.example.com?transport=tcp", "turn:10.0.0.2:99", "turns:turn.example.com"],
      username: "user",
      credential: "secret",
    },
  ]);
  assert.deepEqual(stun, [["stun.example.com", 3478], ["10.0.0.1", 19302], ["2001:db8::1", 1]]);
  const who = { username: "user", credential: "secret" };
  assert.deepEqual(turn.map(({ address, transport }) => [...address, transport]), [
    ["turn.example.com", 3478, "tcp"],
    ["10.0.0.2", 99, "udp"],
    ["turn.example.com", 5349, "tls"],
  ]);
  assert.deepEqual({ username: turn[0]?.username, credential: turn[0]?.credential }, who);
  assert.deepEqual(problems, []);
});

Deno.test("readIceServers() leaves out what cannot be used, and says so", () => {
  const { stun, turn, problems } = readIceServers([
    { urls: ["http://example.com", "stun:", "stun:a:99999", "stun:b"] },
    { urls: ["turn:nobody.example.com"] },
    { urls: ["turns:c?transport=udp"], username: "u", credential: "c" },
  ]);
  assert.deepEqual([stun, turn], [[["b", 3478]], []]);
  assert.deepEqual(problems, [
    '"http://example.com" is no address of a STUN or TURN server',
    '"stun:" is no address of a STUN or TURN server',
    '"stun:a:99999" is no address of a STUN or TURN server',
    '"turn:nobody.example.com" has no username or no credential',
    '"turns:c?transport=udp" is no address of a STUN or TURN server',
  ]);
});

Deno.test("readIceServers() takes a few of each kind", () => {
  const urls = Array.from({ length: 50 }, (_, n) => `stun:10.0.0.${n}`);
  assert.equal(readIceServers([{ urls }]).stun.length, 4);
});
