import assert from "node:assert/strict";
import { create } from "@bufbuild/protobuf";
import { Code, ConnectError } from "@connectrpc/connect";
import { EndUserService } from "../../shared/gen/viam/app/v1/end_user_pb.ts";
import { apiKey, failure, TestCloud } from "./cloud_testing.ts";
import { REFUSED_SERVICES } from "./refused_services.ts";

const DOCS = new URL("../../docs/compatibility.md", import.meta.url);

Deno.test("services without a use here answer each call with what to do instead, as documented", async () => {
  await using cloud = await TestCloud.open();
  const made = await cloud.bootstrap();
  const transport = cloud.transport(apiKey(made));
  const docs = await Deno.readTextFile(DOCS);
  for (const [service, sentence] of REFUSED_SERVICES) {
    assert.ok(docs.includes(`| \`${service.typeName}\``), service.typeName);
    assert.ok(docs.includes(sentence), sentence);
    for (const method of service.methods) {
      const input = create(method.input);
      const { methodKind } = method;
      const call = methodKind === "unary"
        ? transport.unary({ ...method, methodKind }, undefined, undefined, undefined, input)
        : transport.stream(
          { ...method, methodKind },
          ...[undefined, undefined, undefined] as const,
          each(methodKind === "client_streaming" ? [] : [input]),
        ).then(({ message }) => Array.fromAsync(message));
      const error = ConnectError.from(await call.catch((reason: unknown) => reason));
      assert.deepEqual([error.code, error.rawMessage], [Code.Unimplemented, sentence], method.name);
    }
  }
});

Deno.test("IsLegalAccepted() is true: a cloud of one's own has no terms", async () => {
  await using cloud = await TestCloud.open();
  const client = cloud.client(EndUserService, apiKey(await cloud.bootstrap()));
  assert.equal((await client.isLegalAccepted({})).acceptedLegal, true);
  await client.acceptLegal({});
  const refused = await failure(client.registerAuthApplication({ applicationName: "x" }));
  assert.equal(refused.code, Code.Unimplemented);
  assert.equal(
    (await failure(cloud.client(EndUserService).isLegalAccepted({}))).code,
    Code.Unauthenticated,
  );
});

async function* each<T>(messages: readonly T[]): AsyncGenerator<T> {
  for (const message of messages) yield await Promise.resolve(message);
}
