import assert from "node:assert/strict";
import { Code } from "@connectrpc/connect";
import { FakeClock } from "../../shared/base/time/fake_clock.ts";
import { AccountService } from "../../shared/gen/machine/cloud/v1/accounts_pb.ts";
import { TriggerService } from "../../shared/gen/machine/cloud/v1/triggers_pb.ts";
import { AppService } from "../../shared/gen/viam/app/v1/app_pb.ts";
import { memoryLogger } from "../../shared/log/memory_logger_testing.ts";
import { createClient } from "@connectrpc/connect";
import { createInProcessTransport } from "../../shared/rpc/server/in_process.ts";
import { requireAuthentication } from "../../shared/cloud/auth/require_auth.ts";
import { addOwner } from "../local/people/people_command.ts";
import { needsNoToken } from "../accounts/sign_in/open_calls.ts";
import { systemRandom } from "../storage/keys/random.ts";
import { SteadyTime } from "../storage/steady_time/steady_time.ts";
import { postEvent } from "../triggers/delivery/outbox.ts";
import { transitionFacts } from "../triggers/events/facts_testing.ts";
import { apiKey, failure, TestCloud } from "./cloud_testing.ts";

const DAY = 24 * 60 * 60_000;
const ANN = { email: "ann@example.com", password: "correct horse battery" };

/** A cloud with a person in it, whose host's clock a test sets. */
async function opened() {
  const clock = new FakeClock();
  const time = new SteadyTime(clock);
  const cloud = await TestCloud.open({ clock, time });
  const { queries } = cloud.folder.database;
  await time.load(queries, memoryLogger());
  const made = await cloud.bootstrap();
  const deps = { clock, random: systemRandom };
  const token = await addOwner(queries, { email: ANN.email, orgId: made.org_id }, deps);
  await cloud.services.changes.drain();
  const transport = createInProcessTransport(cloud.services.router, {
    interceptors: [
      requireAuthentication({ verify: cloud.services.verifyToken, exempt: needsNoToken }),
    ],
  });
  const account = createClient(AccountService, transport);
  await account.setPassword({ token: token ?? "", password: ANN.password });
  const signIn = async () => {
    const { result } = await account.signIn(ANN);
    assert.equal(result.case, "signedIn");
    const headers = { authorization: `Bearer ${result.value.accessToken}` };
    const app = createClient(AppService, transport);
    return () => app.listOrganizations({}, { headers });
  };
  const { sessions, audit } = cloud.services.accounts;
  const sweep = async () => {
    await sessions.sweep();
    await audit.sweep();
  };
  const kept = async () => (await audit.page({ orgId: made.org_id }, { size: 0, token: "" })).rows;
  return { cloud, made, clock, signIn, sweep, kept };
}

Deno.test("a clock that jumps years ahead ends no session for good and deletes no entry", async () => {
  const { cloud, clock, signIn, sweep, kept } = await opened();
  await using _ = cloud;
  const before = await signIn();
  const now = clock.now().getTime();
  const entries = (await kept()).length;
  assert.ok(entries > 0);

  clock.setNow(now + 800 * DAY);
  await sweep();
  assert.equal((await failure(before())).code, Code.Unauthenticated, "over by the clock's time");
  const meanwhile = await signIn();
  await meanwhile();

  clock.setNow(now);
  await before();
  await sweep();
  assert.equal((await failure(meanwhile())).code, Code.Unauthenticated, "it would last for years");
  await before();
  assert.ok((await kept()).length >= entries);
});

Deno.test("a clock that is set back prolongs no session", async () => {
  const { cloud, clock, signIn, sweep } = await opened();
  await using _ = cloud;
  const before = await signIn();
  const { queries } = cloud.folder.database;
  const expires_at = clock.now().getTime() + 10_000;
  await queries.updateTable("sessions").set({ expires_at }).execute();
  clock.setNow(clock.now().getTime() - 400 * DAY);
  await sweep();
  await before();
  await (await signIn())();
  await clock.advance(9_000);
  await before();
  await clock.advance(2_000);
  assert.equal((await failure(before())).code, Code.Unauthenticated);
});

Deno.test("a notification that is sent again after the clock was set back is tried for a day", async () => {
  const { cloud, made, clock } = await opened();
  await using _ = cloud;
  const { queries } = cloud.folder.database;
  const partId = made.part_id;
  const at = clock.now();
  const [deliveryId = ""] = await postEvent(
    queries,
    {
      ...{ partId, triggerName: "t", triggerType: "part_data_ingested" },
      ...{ componentName: "c", methodName: "m", at, isTest: false, evaluation: {} },
      facts: transitionFacts(partId),
    },
    [{ type: "webhook", target: "http://127.0.0.1:1/", credentials: undefined }],
    systemRandom,
  );
  clock.setNow(at.getTime() - 400 * DAY);
  await cloud.client(TriggerService, apiKey(made)).replayDelivery({ partId, deliveryId });
  const { expires_at } = await queries.selectFrom("deliveries").select("expires_at")
    .executeTakeFirstOrThrow();
  assert.ok(expires_at >= at.getTime() + DAY, new Date(expires_at).toISOString());
});
