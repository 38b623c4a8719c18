import assert from "node:assert/strict";
import { systemClock } from "../../../shared/base/time/clock.ts";
import { TestCloud } from "../../serve/cloud_testing.ts";
import { systemRandom } from "../../storage/keys/random.ts";
import { addOwner, runPeopleCommand } from "./people_command.ts";

const deps = { clock: systemClock, random: systemRandom };

Deno.test("reset-password leaves the second factor, and takes it away with --remove-second-factor", async () => {
  await using cloud = await TestCloud.open();
  const { org_id: orgId } = await cloud.bootstrap();
  const { queries } = cloud.folder.database;
  const email = "ann@example.com";
  await addOwner(queries, { email, orgId }, deps);
  await queries.updateTable("users").set({ totp_enabled: 1 }).execute();
  const reset = async (removes: boolean) => {
    const printed = await runPeopleCommand({
      command: "reset-password",
      values: {
        ...{ "data": cloud.dataDir, "public-url": "https://cloud.example.com" },
        "remove-second-factor": removes,
      },
      arguments: [email],
    }, deps);
    assert.match(printed, /^https:\/\/cloud\.example\.com\/\S+token=\S+\n$/);
    const user = await queries.selectFrom("users").select("totp_enabled").executeTakeFirstOrThrow();
    return user.totp_enabled;
  };
  assert.equal(await reset(false), 1);
  assert.equal(await reset(true), 0);
  const actions = await queries.selectFrom("audit_entries").select("action").execute();
  assert.ok(actions.some(({ action }) => action === "remove second factor"));
});
