import assert from "node:assert/strict";
import { Code, ConnectError } from "@connectrpc/connect";
import { AccountService } from "../../shared/gen/machine/cloud/v1/accounts_pb.ts";
import { ConsoleService } from "../../shared/gen/machine/cloud/v1/machine_pb.ts";
import { AppService } from "../../shared/gen/viam/app/v1/app_pb.ts";
import { systemClock } from "../../shared/base/time/clock.ts";
import { ignoreWithout } from "../../shared/test_tools/skips.ts";
import { addOwner } from "../local/people/people_command.ts";
import { systemRandom } from "../storage/keys/random.ts";
import type { TestCloud } from "./cloud_testing.ts";
import { Pair } from "./pair_testing.ts";

const PASSWORD = "correct horse battery";

/** A token of each of these is used on the other node, and withdrawn on the first one. */
async function streamsEnd({ one, other }: Pair, label: string): Promise<void> {
  const made = await one.bootstrap();
  const organizationId = made.org_id;
  const owner = one.app(made);

  const key = await owner.createKey({
    name: label,
    authorizations: [{
      ...{ authorizationId: "organization_owner", resourceType: "organization" },
      resourceId: organizationId,
    }],
  });
  const credentials = { type: "api-key", entity: key.id, payload: key.key };
  await ends(other, organizationId, await one.token(credentials), async () => {
    await owner.deleteKey({ id: key.id });
  });

  const session = await signedIn(one, organizationId, `session-${label}@example.com`);
  await ends(other, organizationId, session.token, async () => {
    const headers = { authorization: `Bearer ${session.token}` };
    await one.client(AccountService).endSession({}, { headers });
  });

  const member = await signedIn(one, organizationId, `member-${label}@example.com`);
  await ends(other, organizationId, member.token, async () => {
    await owner.deleteOrganizationMember({ organizationId, userId: member.userId });
  });
}

/** Somebody who has signed in. */
async function signedIn(cloud: TestCloud, orgId: string, email: string) {
  const { queries } = cloud.folder.database;
  const token = await addOwner(queries, { email, orgId }, {
    ...{ clock: systemClock, random: systemRandom },
  });
  await cloud.services.changes.drain();
  const account = cloud.client(AccountService);
  await account.setPassword({ token: token ?? "", password: PASSWORD });
  const { result } = await account.signIn({ email, password: PASSWORD });
  assert.equal(result.case, "signedIn");
  return { token: result.value.accessToken, userId: result.value.userId };
}

/** A stream on a node ends with what stands behind its token, and calls are refused from then on. */
async function ends(
  cloud: TestCloud,
  organizationId: string,
  token: string,
  withdraw: () => Promise<void>,
): Promise<void> {
  const headers = { authorization: `Bearer ${token}` };
  const stream = cloud.client(ConsoleService).watchFleet({ organizationId }, { headers })
    [Symbol.asyncIterator]();
  await stream.next();
  await withdraw();
  const refusedWith = async (work: () => Promise<unknown>) => {
    try {
      await work();
    } catch (error) {
      return ConnectError.from(error).code;
    }
  };
  const code = await refusedWith(async () => {
    while (!(await stream.next()).done);
  });
  const refusals = [Code.Unauthenticated, Code.PermissionDenied, Code.NotFound];
  assert.ok(code !== undefined && refusals.includes(code), `${code}`);
  const again = await refusedWith(() =>
    cloud.client(AppService).listLocations({ organizationId }, { headers })
  );
  assert.ok(again !== undefined && refusals.includes(again), `${again}`);
}

Deno.test({
  name: "keys, sessions and roles that are withdrawn on one node end on the other, also unnotified",
  ignore: ignoreWithout(import.meta.url, "postgresql"),
  async fn() {
    await using pair = await Pair.open();
    await streamsEnd(pair, "notified");
    for (const table of ["changes", "node_messages"]) {
      await pair.server.query(
        `alter table machine_cloud.${table} disable trigger ${table}_notify`,
      );
    }
    await streamsEnd(pair, "unnotified");
  },
});
