import assert from "node:assert/strict";
import type { DescService } from "@bufbuild/protobuf";
import { Code, createClient } from "@connectrpc/connect";
import { AgentService } from "../../../shared/gen/machine/cloud/v1/releases_pb.ts";
import { ConfigurationService } from "../../../shared/gen/machine/cloud/v1/configuration_pb.ts";
import { AuditService } from "../../../shared/gen/machine/cloud/v1/accounts_pb.ts";
import { StoredDataService } from "../../../shared/gen/machine/cloud/v1/data_pb.ts";
import { TriggerService } from "../../../shared/gen/machine/cloud/v1/triggers_pb.ts";
import { DataService } from "../../../shared/gen/viam/app/data/v1/data_pb.ts";
import { AppService } from "../../../shared/gen/viam/app/v1/app_pb.ts";
import { systemClock } from "../../../shared/base/time/clock.ts";
import { createInProcessTransport } from "../../../shared/rpc/server/in_process.ts";
import type { Queries } from "../../storage/database/cloud_database.ts";
import { currentRecord } from "../../storage/audit/call_record.ts";
import { DatabaseUnreachableError } from "../../storage/database/postgres_failures.ts";
import { apiKey, TestCloud } from "../../serve/cloud_testing.ts";
import { AuditedRouter, isRecorded } from "./audited.ts";

function recorded(service: DescService): Set<string> {
  return new Set(service.methods.filter(isRecorded).map(({ name }) => name));
}

Deno.test("the audit log has what changes something or gives a secret", () => {
  const app = recorded(AppService);
  for (const name of ["UpdateRobotPart", "OrganizationSetLogo", "CreateKey", "DeleteRobot"]) {
    assert.ok(app.has(name), name);
  }
  assert.ok(recorded(TriggerService).has("GetTriggerSecret"));
  assert.ok(recorded(TriggerService).has("TestTrigger"));
  assert.ok(recorded(ConfigurationService).has("RestoreRevision"));
  assert.ok(recorded(StoredDataService).has("SetDataSettings"));
});

Deno.test("the audit log has neither what is looked at nor what machines report", () => {
  const services = [
    ...[AgentService, AppService, ConfigurationService, DataService],
    ...[StoredDataService, TriggerService],
  ];
  const all = services.flatMap((service) => [...recorded(service)]);
  const reads = all.filter((name) =>
    /(Get|List|By(Filter|DatasetID)$|^Plot|^Preview|^Compare)/.test(name)
  );
  assert.deepEqual(reads.sort(), [
    "AddTagsToBinaryDataByFilter",
    "DeleteBinaryDataByFilter",
    "GetTriggerSecret",
    "RemoveTagsFromBinaryDataByFilter",
  ]);
  assert.ok(!all.includes("ReportAgentStatus"));
});

Deno.test("the audit log has calls of a service that is made with its first call", async () => {
  const queries = undefined as unknown as Queries;
  const actions: (string | undefined)[] = [];
  let made = 0;
  const router = new AuditedRouter({ queries, clock: systemClock }).service(TriggerService, () => {
    made++;
    return {
      testTrigger: () => {
        actions.push(currentRecord()?.action);
        return {};
      },
    };
  });
  assert.equal(made, 0);
  const client = createClient(TriggerService, createInProcessTransport(router));
  await client.testTrigger({});
  await client.testTrigger({});
  assert.deepEqual(actions, Array(2).fill("machine.cloud.v1.TriggerService/TestTrigger"));
  assert.equal(made, 1);
});

Deno.test("a call that cannot be recorded as the database is away can be repeated", async () => {
  const away = () => {
    throw new DatabaseUnreachableError("connection terminated");
  };
  const queries = { getExecutor: away } as unknown as Queries;
  const router = new AuditedRouter({ queries, clock: systemClock }).service(TriggerService, {
    testTrigger: () => {
      Object.assign(currentRecord() ?? {}, { actor: "key" });
      return {};
    },
  });
  const client = createClient(TriggerService, createInProcessTransport(router));
  await assert.rejects(client.testTrigger({}), { code: Code.Unavailable });
});

Deno.test("the audit log has a read that makes the key of a machine, once", async () => {
  await using cloud = await TestCloud.open();
  const made = await cloud.bootstrap();
  const audit = cloud.client(AuditService, apiKey(made));
  const logged = async () => {
    const { entries } = await audit.listAuditEntries({ organizationId: made.org_id });
    return entries.filter(({ action }) => action.endsWith("/GetRobotAPIKeys"));
  };
  for (let i = 0; i < 2; i++) {
    await cloud.app(made).getRobotAPIKeys({ robotId: made.machine_id });
    const [entry, ...more] = await logged();
    assert.equal(entry?.actor, made.api_key_id);
    assert.equal(entry.target, JSON.stringify({ robot_id: made.machine_id }));
    assert.deepEqual(more, []);
  }
});
