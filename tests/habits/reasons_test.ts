import assert from "node:assert/strict";
import { readSources } from "./sources.ts";

/**
 * Errors without a reason, by file. The console can put only those with one into the language of
 * whoever reads them, so a refusal that a person can cause there takes `refusal()` of
 * shared/rpc/reasons.ts and a rule of its table. What only programs, machines and command lines
 * cause stays a sentence in English: fields that the console fills itself, tokens of pages, calls
 * that it does not have, a cloud that shuts down.
 */
const WITHOUT_REASON: Readonly<Record<string, number>> = {
  "cloud/accounts/access/authorizations.ts": 2,
  "cloud/accounts/access/key_methods.ts": 4,
  "cloud/accounts/access/scope.ts": 1,
  "cloud/accounts/access/secret_changes.ts": 4,
  "cloud/accounts/audit/audit_log.ts": 2,
  "cloud/accounts/branding/branding_methods.ts": 2,
  "cloud/accounts/members/invitation_methods.ts": 2,
  "cloud/accounts/members/member_methods.ts": 2,
  "cloud/accounts/members/role_methods.ts": 4,
  "cloud/accounts/organizations/location_methods.ts": 1,
  "cloud/accounts/organizations/location_sharing.ts": 3,
  "cloud/accounts/organizations/namespace_methods.ts": 3,
  "cloud/accounts/organizations/organization_deletion.ts": 2,
  "cloud/accounts/organizations/own_organization_methods.ts": 2,
  "cloud/accounts/organizations/support_email.ts": 1,
  "cloud/accounts/organizations/update_organization.ts": 2,
  "cloud/accounts/program_sign_in/program_sign_in.ts": 5,
  "cloud/accounts/sign_in/account_service.ts": 1,
  "cloud/accounts/web_session/request_body.ts": 2,
  "cloud/accounts/web_session/session_routes.ts": 3,
  "cloud/accounts/web_session/single_sign_on_routes.ts": 1,
  "cloud/api/paging/paging.ts": 2,
  "cloud/data/datasets/dataset_service.ts": 3,
  "cloud/data/export/data_routes.ts": 3,
  "cloud/data/ingest/absent_methods.ts": 1,
  "cloud/data/ingest/annotation_methods.ts": 5,
  "cloud/data/ingest/binary_filter.ts": 1,
  "cloud/data/ingest/binary_ids.ts": 2,
  "cloud/data/ingest/binary_methods.ts": 2,
  "cloud/data/ingest/capture.ts": 5,
  "cloud/data/ingest/data_sync_service.ts": 5,
  "cloud/data/ingest/filters.ts": 1,
  "cloud/data/ingest/plot.ts": 1,
  "cloud/data/ingest/stored_data_service.ts": 3,
  "cloud/data/ingest/tabular_methods.ts": 3,
  "cloud/data/pipelines/pipeline_methods.ts": 4,
  "cloud/data/queries/query_methods.ts": 1,
  "cloud/data/queries/query_runner.ts": 3,
  "cloud/data/queries/saved_query_methods.ts": 1,
  "cloud/data/queries/stages.ts": 1,
  "cloud/data/sequences/export_methods.ts": 1,
  "cloud/data/sequences/sequence_form.ts": 9,
  "cloud/data/sequences/sequence_methods.ts": 4,
  "cloud/fleet/enrollment/create_machines.ts": 2,
  "cloud/fleet/enrollment/enrollment_service.ts": 12,
  "cloud/fleet/enrollment/enrollments.ts": 4,
  "cloud/fleet/enrollment/machine_template.ts": 3,
  "cloud/fleet/machines/favorite_methods.ts": 1,
  "cloud/fleet/machines/fleet_methods.ts": 3,
  "cloud/fleet/machines/property_methods.ts": 1,
  "cloud/fleet/machines/robot_service.ts": 1,
  "cloud/fleet/machines/summary_methods.ts": 1,
  "cloud/fleet/relay/device_calls.ts": 1,
  "cloud/fleet/relay/relayed_connections.ts": 1,
  "cloud/fleet/signaling/node_messages.ts": 1,
  "cloud/fleet/signaling/shared_calls.ts": 2,
  "cloud/fleet/watch/machine_service.ts": 1,
  "cloud/inference/inference_runner.ts": 3,
  "cloud/inference/inference_service.ts": 5,
  "cloud/local/commands/local_cloud.ts": 1,
  "cloud/registry/items/item_methods.ts": 1,
  "cloud/registry/items/module_methods.ts": 1,
  "cloud/registry/items/ownership_methods.ts": 1,
  "cloud/registry/packages/names.ts": 2,
  "cloud/registry/packages/package_service.ts": 4,
  "cloud/releases/agents/agent_commands.ts": 1,
  "cloud/releases/agents/cloud_agent_service.ts": 1,
  "cloud/releases/catalogue/checks.ts": 2,
  "cloud/releases/catalogue/release_messages.ts": 1,
  "cloud/releases/catalogue/release_service.ts": 3,
  "cloud/releases/source/source_access.ts": 1,
  "cloud/serve/absent_calls.ts": 1,
  "cloud/serve/refused_services.ts": 1,
  "cloud/serve/training.ts": 1,
  "cloud/storage/blobs/upload_stream.ts": 4,
  "cloud/storage/database/call_failures.ts": 1,
  "cloud/storage/database/postgres_failures.ts": 1,
  "cloud/training/jobs/checks.ts": 1,
  "cloud/training/jobs/scripts.ts": 1,
  "cloud/training/jobs/training_service.ts": 1,
  "cloud/triggers/mail/test_mail.ts": 1,
  "cloud/triggers/rules/trigger_editor.ts": 1,
  "cloud/triggers/rules/trigger_service.ts": 4,
  "shared/cloud/auth/auth_service.ts": 3,
};

/** Where one file makes many, `invalid()` does. */
const RAW = /new ConnectError\(|throw invalid\(/g;

Deno.test("no refusal of the cloud is without a reason, but those that only programs cause", async () => {
  const files = (await readSources()).filter(({ path }) =>
    /^(cloud|shared\/cloud)\/.*\.ts$/.test(path) && !/(_test|testing)\.ts$/.test(path)
  );
  const counts = files.map(({ path, text }) => [path, [...text.matchAll(RAW)].length] as const);
  const found = Object.fromEntries(counts.filter(([, count]) => count > 0));
  assert.deepEqual(found, WITHOUT_REASON);
});
