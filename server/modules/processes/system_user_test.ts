import assert from "node:assert/strict";
import { findSystemUser, type UserFacts } from "./system_user.ts";

const users = "root:x:0:0:root:/root:/bin/bash\npi:x:1000:1001:,,,:/home/pi:/bin/sh\n# odd\n";
const facts = (more: Partial<UserFacts>): UserFacts => ({
  os: "linux",
  uid: 0,
  readUsers: () => Promise.resolve(users),
  ...more,
});

Deno.test("findSystemUser() gives root any user, by name or number", async () => {
  const pi = { name: "pi", uid: 1000, gid: 1001, home: "/home/pi", isSelf: false };
  assert.deepEqual(await findSystemUser("pi", facts({})), pi);
  assert.deepEqual(await findSystemUser("1000", facts({})), pi);
  assert.equal((await findSystemUser("root", facts({}))).isSelf, true);
});

Deno.test("findSystemUser() gives others only themselves and says what to do", async () => {
  assert.equal((await findSystemUser("pi", facts({ uid: 1000 }))).isSelf, true);
  await assert.rejects(findSystemUser("root", facts({ uid: 1000 })), /run the server as root/);
  await assert.rejects(findSystemUser("none", facts({})), /there is no user none/);
  await assert.rejects(findSystemUser("pi", facts({ os: "windows" })), /on Linux only/);
});
