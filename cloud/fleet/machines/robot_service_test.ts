import assert from "node:assert/strict";
import { Code } from "@connectrpc/connect";
import { TAKES_HASHES_HEADER } from "../../../shared/rights/hashed_access.ts";
import { fromRobotConfig } from "../../../shared/config/from_robot_config.ts";
import { RobotService } from "../../../shared/gen/viam/app/v1/robot_pb.ts";
import { failure, partSecret, TestCloud } from "../../serve/cloud_testing.ts";

Deno.test("Config() answers with what a machine needs to know of its cloud", async () => {
  await using cloud = await TestCloud.open();
  const made = await cloud.bootstrap({
    config: {
      components: [{
        name: "host",
        api: "rdk:component:sensor",
        model: "host",
        attributes: { a: 1 },
      }],
      agent: { version_control: { agent: "stable" } },
      triggers: [],
    },
  });

  const { config } = await cloud.client(RobotService, partSecret(made)).config({
    id: made.part_id,
    agentInfo: { host: "h", os: "linux", ips: ["10.0.0.1"], version: "1.2.3" },
  });

  assert.ok(config?.cloud);
  const { cloud: block } = config;
  assert.equal(block.fqdn, `demo-main.${made.location_id}.machine.internal`);
  assert.equal(block.localFqdn, `demo-main.${made.location_id}.local.machine.internal`);
  assert.equal(block.machineId, made.machine_id);
  assert.equal(block.locationId, made.location_id);
  assert.equal(block.primaryOrgId, made.org_id);
  assert.equal(block.signalingAddress, "127.0.0.1:8080");
  assert.equal(block.signalingInsecure, true);
  assert.equal(block.locationSecrets.length, 1);
  assert.match(config.revision, /^1-[0-9a-f]{8}$/);
  assert.deepEqual(fromRobotConfig(config).components[0]?.attributes, { a: 1 });
  // The machine's own key, for servers that know no other way; ours requests hashes.
  assert.equal(config.auth?.handlers.length, 1);
  const ours = await cloud.client(RobotService, partSecret(made))
    .config({ id: made.part_id }, { headers: { [TAKES_HASHES_HEADER]: "1" } });
  assert.equal(ours.config?.auth, undefined);
  const { part } = await cloud.app(made).getRobotPart({ id: made.part_id });
  assert.equal(part?.userSuppliedInfo?.["version"], "1.2.3");
});

Deno.test("Certificate() sends no private key where calls travel in clear", async () => {
  await using cloud = await TestCloud.open();
  const made = await cloud.bootstrap();
  const robot = cloud.client(RobotService, partSecret(made));
  const { code, message } = await failure(robot.certificate({ id: made.part_id }));
  assert.equal(code, Code.FailedPrecondition);
  assert.match(message, /without TLS sends no private keys/);
});
