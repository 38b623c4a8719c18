import assert from "node:assert/strict";
import { Code } from "@connectrpc/connect";
import { ValueSchema } from "@bufbuild/protobuf/wkt";
import { fromJson, type JsonValue } from "@bufbuild/protobuf";
import { failure, TestCloud } from "../../serve/cloud_testing.ts";

const change = (path: string, value: JsonValue) => ({ path, value: fromJson(ValueSchema, value) });

Deno.test("setConfigProperty() makes one save of the changes that lead somewhere", async () => {
  await using cloud = await TestCloud.open();
  const config = {
    components: [{ name: "cam", api: "rdk:component:camera", model: "rdk:builtin:fake" }],
  };
  const made = await cloud.bootstrap({ config });
  const app = cloud.app(made);
  const { propertyChanges } = await app.setConfigProperty({
    robotPartId: made.part_id,
    propertyChanges: [
      change("components.cam.attributes.width", 640),
      change("debug", true),
      change("components.arm.attributes.x", 1),
      change("a..b", 1),
    ],
  });
  assert.deepEqual(propertyChanges.map(({ path, success, error }) => [path, success, error]), [
    ["components.cam.attributes.width", true, ""],
    ["debug", true, ""],
    ["components.arm.attributes.x", false, "path: a list on this path has no such entry"],
    ["a..b", false, "path: steps with dots between them are expected"],
  ]);
  const { part } = await app.getRobotPart({ id: made.part_id });
  assert.deepEqual(part?.robotConfig, {
    components: [{ ...config.components[0], attributes: { width: 640 } }],
    debug: true,
  });
  assert.equal((await app.getRobotPartHistory({ id: made.part_id })).history.length, 1);

  const wrong = app.setConfigProperty({
    robotPartId: made.part_id,
    propertyChanges: [change("components", 7)],
  });
  assert.equal((await failure(wrong)).code, Code.InvalidArgument);
  assert.deepEqual(
    (await app.getRobotPart({ id: made.part_id })).part?.robotConfig,
    part?.robotConfig,
  );
  const none = app.setConfigProperty({ robotPartId: made.part_id });
  assert.equal((await failure(none)).code, Code.InvalidArgument);
});
