import assert from "node:assert/strict";
import { ConsoleService } from "../../../shared/gen/machine/cloud/v1/machine_pb.ts";
import { apiKey, failure, partSecret, TestCloud } from "../../serve/cloud_testing.ts";

Deno.test("a field without effect is told at save, in the log and in the status", async () => {
  await using cloud = await TestCloud.open();
  const made = await cloud.bootstrap();
  const app = cloud.app(made);
  const id = made.part_id;
  const save = (robotConfig: Record<string, object>) =>
    app.updateRobotPart({ id, name: "demo", robotConfig: robotConfig as Record<string, never> });
  const status = async (credentials = apiKey(made)) =>
    (await cloud.client(ConsoleService, credentials).getPartLiveStatus({ partId: id }))
      .configWarnings;

  const { fragment } = await app.createFragment({
    name: "f",
    organizationId: made.org_id,
    config: { cloud: { managed_by: "x" } },
  });
  const fragments = [fragment?.id ?? ""];
  await save({ fragments, auth: { tls_auth_entities: ["x"] } });
  const told = await status();
  assert.equal(told.length, 2, "of the fragment, too, and not of the list of fragments");
  assert.match(told.join(), /cloud\.managed_by: has no effect/);
  assert.match(told.join(), /auth\.tls_auth_entities: has no effect/);
  const { logs } = await app.getRobotPartLogs({ id, levels: ["warn"] });
  assert.deepEqual(logs.map(({ message }) => message).toSorted(), [...told].toSorted());
  assert.deepEqual(await status(partSecret(made)), [], "only those who manage the machine");

  await save({});
  assert.deepEqual(await status(), []);
});

Deno.test("a fragment does not switch off the check of what a resource depends on", async () => {
  await using cloud = await TestCloud.open();
  const made = await cloud.bootstrap();
  const { fragment } = await cloud.app(made).createFragment({
    name: "f",
    organizationId: made.org_id,
    config: {},
  });
  const components = [{
    name: "a",
    api: "rdk:component:sensor",
    model: "rdk:builtin:fake",
    depends_on: ["nope"],
  }];
  const { message } = await failure(
    cloud.app(made).updateRobotPart({
      id: made.part_id,
      name: "demo",
      robotConfig: { fragments: [fragment?.id ?? ""], components },
    }),
  );
  assert.match(message, /components\[0\]\.depends_on\[0\]: there is no component/);
});
