import assert from "node:assert/strict";
import { FakeClock } from "../../../shared/base/time/fake_clock.ts";
import { TestCloud } from "../../serve/cloud_testing.ts";
import { systemRandom } from "../../storage/keys/random.ts";
import { findOrCreateUser } from "../people/users.ts";
import { Sessions } from "./sessions.ts";

Deno.test("Sessions.wasAt() knows a person in the whole of an IPv6 network, and nobody else there", async () => {
  await using cloud = await TestCloud.open();
  const { queries } = cloud.folder.database;
  const clock = new FakeClock();
  const tools = { random: systemRandom, now: clock.now() };
  const person = await findOrCreateUser(queries, { email: "a@example.com" }, tools);
  const other = await findOrCreateUser(queries, { email: "b@example.com" }, tools);
  const sessions = new Sessions({
    ...{ queries, clock, random: systemRandom, changes: cloud.services.changes },
    issuer: { issue: () => Promise.resolve("token") },
  });
  for (const address of ["2001:db8:1:2::3", "198.51.100.2"]) {
    await sessions.start(person.id, "password", { address, client: "" });
  }
  assert.ok(await sessions.wasAt(person.id, "2001:db8:1:2:aaaa:bbbb:cccc:dddd"));
  assert.ok(await sessions.wasAt(person.id, "198.51.100.2"));
  assert.ok(!await sessions.wasAt(person.id, "2001:db8:1:3::3"));
  assert.ok(!await sessions.wasAt(person.id, "198.51.100.3"));
  assert.ok(!await sessions.wasAt(other.id, "198.51.100.2"));
});
