import assert from "node:assert/strict";
import { Code } from "@connectrpc/connect";
import { AppService } from "../../../shared/gen/viam/app/v1/app_pb.ts";
import { RobotService } from "../../../shared/gen/viam/app/v1/robot_pb.ts";
import { apiKey, failure, partSecret, TestCloud } from "../../serve/cloud_testing.ts";

Deno.test("Authenticate() says which credential type was wrong and nothing more", async () => {
  await using cloud = await TestCloud.open();
  const made = await cloud.bootstrap();
  const wrong = [
    { type: "api-key", entity: made.api_key_id, payload: "wrong" },
    { type: "api-key", entity: crypto.randomUUID(), payload: made.api_key },
    { type: "api-key", entity: "", payload: "" },
    { type: "robot-secret", entity: made.part_id, payload: made.api_key },
    { type: "robot-secret", entity: crypto.randomUUID(), payload: made.part_secret },
    { type: "robot-secret", entity: made.part_id, payload: "x".repeat(100_000) },
    { type: "robot-location-secret", entity: made.fqdn, payload: made.part_secret },
  ];

  for (const credentials of wrong) {
    const { code, message } = await failure(cloud.token(credentials));
    assert.equal(code, Code.Unauthenticated);
    assert.equal(message, `invalid credentials of type ${credentials.type}`);
  }
});

Deno.test("Authenticate() takes keys, part secrets and location secrets", async () => {
  await using cloud = await TestCloud.open();
  const made = await cloud.bootstrap();
  const { location } = await cloud.app(made).getLocation({ locationId: made.location_id });
  const payload = location?.auth?.secrets[0]?.secret ?? "";
  const byLocation = { type: "robot-location-secret", entity: made.fqdn, payload };

  const own = await cloud.client(RobotService, partSecret(made)).config({ id: made.part_id });
  const managed = await cloud.client(RobotService, apiKey(made)).config({ id: made.part_id });
  const seen = await cloud.client(AppService, byLocation).getRobot({ id: made.machine_id });

  assert.equal(own.config?.cloud?.id, made.part_id);
  assert.deepEqual(managed, own);
  assert.equal(seen.robot?.name, "demo");
  assert.equal(own.config?.cloud?.locationSecrets[0]?.secret, payload);
});

Deno.test("Config() is refused without a token, with a bad one and with another part's", async () => {
  await using cloud = await TestCloud.open();
  const made = await cloud.bootstrap();
  const other = await cloud.bootstrap({ machine: "other" });

  const none = await failure(cloud.client(RobotService).config({ id: made.part_id }));
  const foreign = await failure(
    cloud.client(RobotService, partSecret(other)).config({ id: made.part_id }),
  );
  const empty = await failure(cloud.client(RobotService, partSecret(made)).config({}));

  assert.equal(none.code, Code.Unauthenticated);
  assert.equal(foreign.code, Code.NotFound);
  assert.equal(empty.code, Code.InvalidArgument);
});
