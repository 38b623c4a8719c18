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

  await save({ fragments: ["f"], agent: { network_configuration: { hotspot_prefix: "x" } } });
  const told = await status();
  assert.equal(told.length, 2);
  assert.match(told[0]!, /fragments: has no effect: fragments are not merged in this release/);
  assert.match(told[1]!, /agent\.network_configuration: has no effect/);
  const { logs } = await app.getRobotPartLogs({ id, levels: ["warn"] });
  assert.deepEqual(logs.map(({ message }) => message).toSorted(), [...told].toSorted());
  assert.deepEqual(await status(partSecret(made)), [], "only those who manage the machine");

  await save({});
  assert.deepEqual(await status(), []);
});

Deno.test("fragments do not switch off the check of what a resource depends on", async () => {
  await using cloud = await TestCloud.open();
  const made = await cloud.bootstrap();
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
      robotConfig: { fragments: ["f"], components },
    }),
  );
  assert.match(message, /components\[0\]\.depends_on\[0\]: there is no component.*not merged/);
});
