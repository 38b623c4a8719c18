/** Every call of the public API about data: answered, or refused with what to use in its place. */
import assert from "node:assert/strict";
import type { DescService } from "@bufbuild/protobuf";
import { Code } from "@connectrpc/connect";
import { DataService } from "../../shared/gen/viam/app/data/v1/data_pb.ts";
import { DatasetService } from "../../shared/gen/viam/app/dataset/v1/dataset_pb.ts";
import { DataSyncService } from "../../shared/gen/viam/app/datasync/v1/data_sync_pb.ts";
import { apiKey, failure, TestCloud } from "./cloud_testing.ts";

/** Mean nothing in this cloud. */
const ABSENT: Readonly<Record<string, RegExp>> = {
  getDatabaseConnection: /query with TabularDataBySQL/,
  configureDatabaseUser: /query with TabularDataBySQL/,
  createIndex: /found fast by component_name/,
  listIndexes: /found fast by component_name/,
  deleteIndex: /found fast by component_name/,
};

const SERVICES: readonly DescService[] = [DataService, DatasetService, DataSyncService];

Deno.test("every call about data is answered, or says what to use in its place", async () => {
  await using cloud = await TestCloud.open();
  const made = await cloud.bootstrap();
  const seen: string[] = [];
  for (const service of SERVICES) {
    const client = cloud.client(service, apiKey(made)) as unknown as Record<
      string,
      (request: unknown) => Promise<unknown> | AsyncIterable<unknown>
    >;
    for (const { localName, methodKind } of service.methods) {
      const call = async () => {
        const answer = client[localName]?.(methodKind === "client_streaming" ? nothing() : {});
        if (methodKind === "server_streaming") {
          await Array.fromAsync(answer as AsyncIterable<unknown>);
        } else await answer;
      };
      const refused = await failure(call()).catch(() => undefined);
      const expected = ABSENT[localName];
      if (expected) {
        assert.equal(refused?.code, Code.Unimplemented, localName);
        assert.match(refused.message, expected);
        seen.push(localName);
      } else {
        assert.notEqual(refused?.code, Code.Unimplemented, `${localName}: ${refused?.message}`);
        assert.notEqual(refused?.code, Code.Internal, `${localName}: ${refused?.message}`);
        assert.notEqual(refused?.code, Code.Unknown, `${localName}: ${refused?.message}`);
      }
    }
  }
  assert.deepEqual(seen.sort(), Object.keys(ABSENT).sort());
});

async function* nothing() {
  // A stream that ends at once.
}
