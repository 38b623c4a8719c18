import assert from "node:assert/strict";
import { Code } from "@connectrpc/connect";
import { apiKey, type Credentials, failure, partSecret } from "../../serve/cloud_testing.ts";
import { TrainingRig } from "./rig_testing.ts";

Deno.test("only an organisation's owner may call, and others' ids answer as unknown ones do", async () => {
  await using rig = await TrainingRig.open();
  const { made, orgId } = rig;
  const { id } = await rig.client().submitTrainingJob(rig.managed());
  const stranger = await rig.cloud.bootstrap({ organization: "Strangers" });
  const app = rig.cloud.app(made);
  const key = async (authorizationId: string, resourceType: string, resourceId: string) => {
    const authorization = { authorizationType: "role", authorizationId, resourceType, resourceId };
    const created = await app.createKey({ name: "k", authorizations: [authorization] });
    return { type: "api-key", entity: created.id, payload: created.key };
  };
  const { locations } = await app.listLocations({ organizationId: orgId });
  const locationId = locations[0]?.id ?? "";
  const { location } = await app.getLocation({ locationId });
  const payload = location?.auth?.secrets[0]?.secret ?? "";
  const calls = (who: Credentials, ids: { org: string; job: string }) => {
    const client = rig.client(who);
    return {
      submitTrainingJob: () =>
        client.submitTrainingJob({ ...rig.managed("x"), organizationId: ids.org }),
      submitCustomTrainingJob: () =>
        client.submitCustomTrainingJob({ ...rig.custom("x"), organizationId: ids.org }),
      listTrainingJobs: () => client.listTrainingJobs({ organizationId: ids.org }),
      listContainers: () => client.listContainers({ organizationId: ids.org }),
      getTrainingJob: () => client.getTrainingJob({ id: ids.job }),
      cancelTrainingJob: () => client.cancelTrainingJob({ id: ids.job }),
      deleteCompletedTrainingJob: () => client.deleteCompletedTrainingJob({ id: ids.job }),
      getTrainingJobLogs: () => client.getTrainingJobLogs({ id: ids.job }),
    };
  };

  const refused: [string, Credentials][] = [
    ["operator", await key("organization_operator", "organization", orgId)],
    ["owner of a location", await key("location_owner", "location", locationId)],
    ["owner of a machine", await key("robot_owner", "robot", made.machine_id)],
    ["part", partSecret(made)],
    ["location", { type: "robot-location-secret", entity: made.fqdn, payload }],
  ];
  for (const [name, who] of refused) {
    for (const [method, call] of Object.entries(calls(who, { org: orgId, job: id }))) {
      const { code, message } = await failure(call());
      assert.equal(code, Code.PermissionDenied, `${name} ${method}: ${message}`);
      assert.match(message, /needs the credentials of an API key or a person that is owner/);
    }
    const denied = await failure(rig.client(who).listSupportedContainers({}));
    assert.equal(denied.code, Code.PermissionDenied);
  }

  const foreign = Object.entries(calls(apiKey(stranger), { org: orgId, job: id }));
  const unknown = calls(apiKey(stranger), { org: "unknown", job: "unknown" });
  for (const [method, call] of foreign) {
    const found = await failure(call());
    const expected = await failure(unknown[method as keyof typeof unknown]());
    assert.equal(found.code, Code.NotFound, `${method}: ${found.message}`);
    const message = found.message.replace(orgId, "unknown").replace(id, "unknown");
    assert.deepEqual({ ...found, message }, expected, method);
  }
  assert.equal((await rig.jobs.byId(id))?.state, "pending");
  assert.equal((await rig.jobs.unfinished()).length, 1);
});
