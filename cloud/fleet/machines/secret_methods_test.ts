import assert from "node:assert/strict";
import { Code } from "@connectrpc/connect";
import { verifySecret } from "../../../shared/cloud/auth/secret_hash.ts";
import { MachineService } from "../../../shared/gen/machine/cloud/v1/machine_pb.ts";
import { AppService } from "../../../shared/gen/viam/app/v1/app_pb.ts";
import { RobotService } from "../../../shared/gen/viam/app/v1/robot_pb.ts";
import { TAKES_HASHES_HEADER } from "../../../shared/rights/hashed_access.ts";
import { SECRET_CLAIM } from "../../accounts/access/claims.ts";
import { ClearSecrets } from "../../accounts/access/clear_secrets.ts";
import {
  apiKey,
  type Credentials,
  failure,
  partSecret,
  TestCloud,
} from "../../serve/cloud_testing.ts";

const ours = { headers: { [TAKES_HASHES_HEADER]: "1" } };

Deno.test("the secret of a part is rotated while both count, and the old one ends at once", async () => {
  await using cloud = await TestCloud.open();
  const made = await cloud.bootstrap();
  const app = cloud.app(made);
  const partId = made.part_id;
  const config = (secret: string) =>
    cloud.client(RobotService, { ...partSecret(made), payload: secret }).config({ id: partId });

  const { part } = await app.createRobotPartSecret({ partId });
  const [next, before] = part?.secrets ?? [];
  assert.ok(next && before);
  assert.deepEqual([part?.secret, before.secret], [next.secret, made.part_secret]);
  await config(before.secret);
  await config(next.secret);
  const third = await failure(app.createRobotPartSecret({ partId }));
  assert.equal(third.code, Code.FailedPrecondition);
  assert.match(third.message, /has 2 secrets/);

  const old = cloud.client(RobotService, partSecret(made));
  await old.config({ id: partId });
  await app.deleteRobotPartSecret({ partId, secretId: before.id });
  assert.equal((await failure(old.config({ id: partId }))).code, Code.Unauthenticated);
  assert.equal((await failure(config(before.secret))).code, Code.Unauthenticated);
  await config(next.secret);
  const last = await failure(app.deleteRobotPartSecret({ partId, secretId: next.id }));
  assert.equal(last.code, Code.FailedPrecondition);
  const gone = await failure(app.deleteRobotPartSecret({ partId, secretId: before.id }));
  assert.equal(gone.code, Code.NotFound);
});

Deno.test("two callers who add a secret at the same moment leave two secrets, not three", async () => {
  await using cloud = await TestCloud.open();
  const made = await cloud.bootstrap();
  const app = cloud.app(made);
  const results = await Promise.allSettled(
    Array.from({ length: 5 }, () => app.createRobotPartSecret({ partId: made.part_id })),
  );
  assert.equal(results.filter(({ status }) => status === "fulfilled").length, 1);
  const { part } = await app.getRobotPart({ id: made.part_id });
  assert.equal(part?.secrets.length, 2);
});

Deno.test("the secret of a location is rotated, and its machines hear of it", async () => {
  await using cloud = await TestCloud.open();
  const made = await cloud.bootstrap();
  const app = cloud.app(made);
  const locationId = made.location_id;
  const first = (await app.locationAuth({ locationId })).auth?.secrets[0];
  const machine = cloud.client(MachineService, partSecret(made));
  const accepted = async (secret: string) => {
    const { locationSecrets } = await machine.listAccessKeys({ partId: made.part_id });
    return locationSecrets.some(({ hash }) => verifySecret(secret, hash));
  };
  const { auth } = await app.createLocationSecret({ locationId });
  const next = auth?.secrets[0];
  assert.ok(first && next && next.id !== first.id);
  assert.deepEqual([await accepted(first.secret), await accepted(next.secret)], [true, true]);
  const mailbox = cloud.services.watchers.follow({ id: made.part_id, orgId: made.org_id });
  await app.deleteLocationSecret({ locationId, secretId: first.id });
  assert.deepEqual(
    [...await mailbox.take(cloud.clock, 1_000, new AbortController().signal)],
    ["access"],
  );
  mailbox.close();
  assert.deepEqual([await accepted(first.secret), await accepted(next.secret)], [false, true]);
  const signIn = (payload: string) =>
    cloud.token({ type: "robot-location-secret", entity: made.fqdn, payload });
  await signIn(next.secret);
  assert.equal((await failure(signIn(first.secret))).code, Code.Unauthenticated);
});

Deno.test("secrets are rotated and read by owners only", async () => {
  await using cloud = await TestCloud.open();
  const made = await cloud.bootstrap();
  const theirs = await cloud.bootstrap({ organization: "Other" });
  const operator = await cloud.app(made).createKey({
    name: "operator",
    authorizations: [{
      authorizationId: "robot_operator",
      resourceType: "robot",
      resourceId: made.machine_id,
    }],
  });
  const { part_id: partId, location_id: locationId } = made;
  const callers: [Credentials, Code][] = [
    [partSecret(made), Code.PermissionDenied],
    [{ type: "api-key", entity: operator.id, payload: operator.key }, Code.PermissionDenied],
    [apiKey(theirs), Code.NotFound],
  ];
  for (const [credentials, code] of callers) {
    const app = cloud.client(AppService, credentials);
    const calls = [
      app.createRobotPartSecret({ partId }),
      app.deleteRobotPartSecret({ partId, secretId: "x" }),
      app.createLocationSecret({ locationId }),
      app.deleteLocationSecret({ locationId, secretId: "x" }),
      app.locationAuth({ locationId }),
      app.markPartAsMain({ partId }),
    ].map(failure);
    for (const { code: got } of await Promise.all(calls)) assert.equal(got, code, credentials.type);
  }
  // Whoever stole a part's secret does not learn the next one.
  const { part } = await cloud.client(AppService, partSecret(made)).getRobotPart({ id: partId });
  assert.deepEqual([part?.secret, part?.secrets.length], ["", 0]);
});

Deno.test("a part secret that served a server of ours opens no other machine of the location", async () => {
  await using cloud = await TestCloud.open();
  const made = await cloud.bootstrap();
  const id = made.part_id;
  const robot = cloud.client(RobotService, partSecret(made));
  const inClear = async (asked: ReturnType<typeof robot.config>) =>
    (await asked).config?.cloud?.locationSecrets.length;
  assert.equal(await inClear(robot.config({ id })), 1, "a stock server has no other way");
  assert.equal(await inClear(robot.config({ id }, ours)), 0);
  assert.equal(await inClear(robot.config({ id })), 0, "whatever is said with it later");
  const { secrets } = (await cloud.app(made).getRobotPart({ id })).part!;
  const claims = { [SECRET_CLAIM]: secrets[0]!.id };
  const identity = { credentialType: "robot-secret", entity: id, claims } as const;
  const restarted = new ClearSecrets(cloud.folder.database.queries);
  assert.equal(await restarted.mayHave(identity, false), false, "after a restart, too");

  const { part } = await cloud.app(made).createRobotPartSecret({ partId: id });
  const payload = part?.secret ?? "";
  const fresh = cloud.client(RobotService, { ...partSecret(made), payload });
  assert.equal(await inClear(fresh.config({ id })), 1, "a new secret may serve a stock server");
});

Deno.test("ListAccessKeys() tells roles, and secrets as hashes that fit one part only", async () => {
  await using cloud = await TestCloud.open();
  const made = await cloud.bootstrap();
  const other = await cloud.bootstrap({ machine: "other" });
  const grants = ["robot_operator", "robot_owner"].map((authorizationId) => ({
    authorizationId,
    resourceType: "robot",
    resourceId: authorizationId === "robot_owner" ? other.machine_id : made.machine_id,
  }));
  const both = await cloud.app(made).createKey({ name: "both", authorizations: grants });
  const listed = (at: typeof made) =>
    cloud.client(MachineService, partSecret(at)).listAccessKeys({ partId: at.part_id });
  const [here, there] = [await listed(made), await listed(other)];
  const role = ({ keys }: typeof here, id: string) => keys.find((key) => key.id === id)?.role;
  assert.deepEqual([role(here, both.id), role(there, both.id)], [2, 1]);
  assert.equal(role(here, made.api_key_id), 1);
  const [own] = here.partSecrets;
  assert.ok(own && verifySecret(made.part_secret, own.hash));
  assert.ok(!verifySecret(other.part_secret, own.hash));
  assert.notDeepEqual(here.locationSecrets[0]?.hash, there.locationSecrets[0]?.hash);
  assert.ok(!JSON.stringify(here.partSecrets).includes(made.part_secret));
});
