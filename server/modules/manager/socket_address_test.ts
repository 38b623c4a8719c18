import assert from "node:assert/strict";
import { LONGEST_SOCKET_PATH, randomLetters, socketPath } from "./socket_address.ts";

Deno.test("socketPath() names the socket by module and letters", () => {
  assert.equal(socketPath("/tmp/f", "camera", "abcde"), "/tmp/f/camera-abcde.sock");
  assert.match(randomLetters(), /^[a-z]{5}$/);
});

Deno.test("socketPath() cuts a path that would be too long and keeps such paths apart", () => {
  const long = "x".repeat(200);
  const paths = ["abcde", "abcdf"].map((letters) => socketPath("/tmp/f", long, letters));
  for (const path of paths) {
    assert.equal(path.length, LONGEST_SOCKET_PATH);
    assert.match(path, /^\/tmp\/f\/x+-[A-Z2-7]{5}\.sock$/);
  }
  assert.notEqual(paths[0], paths[1]);
  const wide = socketPath("/tmp/f", "ü".repeat(100), "abcde");
  assert(new TextEncoder().encode(wide).length <= LONGEST_SOCKET_PATH);
});

Deno.test("socketPath() takes a path of exactly the longest length whole", () => {
  const name = "x".repeat(LONGEST_SOCKET_PATH - "/tmp/f/".length - "-abcde.sock".length);
  assert.equal(socketPath("/tmp/f", name, "abcde"), `/tmp/f/${name}-abcde.sock`);
  assert.match(socketPath("/tmp/f", `${name}x`, "abcde"), /-[A-Z2-7]{5}\.sock$/);
});

Deno.test("socketPath() says what to do when the folder leaves no room", () => {
  assert.throws(
    () => socketPath(`/${"d".repeat(100)}`, "m", "abcde"),
    /set TMPDIR to a shorter one/,
  );
});
