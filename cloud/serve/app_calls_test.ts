import assert from "node:assert/strict";
import { create } from "@bufbuild/protobuf";
import { Code, ConnectError } from "@connectrpc/connect";
import { AppService } from "../../shared/gen/viam/app/v1/app_pb.ts";
import { ABSENT_CALLS, absentCalls } from "./absent_calls.ts";
import { apiKey, TestCloud } from "./cloud_testing.ts";

const TABLE = new URL("../../docs/compatibility.md", import.meta.url);

/** The rows of the table, by name of the call. */
async function rows(): Promise<Map<string, { works: string; note: string }>> {
  const text = await Deno.readTextFile(TABLE);
  const section = text.split("\n## ").find((each) => each.startsWith("Calls of `viam.app.v1.App"));
  assert.ok(section, "docs/compatibility.md has a section for AppService");
  const found = new Map<string, { works: string; note: string }>();
  for (
    const [, name = "", works = "", note = ""] of section.matchAll(
      /^\| `(\w+)` +\| (\w+) +\| (.*?) *\|$/gm,
    )
  ) {
    assert.ok(!found.has(name), `${name} has one row`);
    found.set(name, { works, note });
  }
  return found;
}

Deno.test("docs/compatibility.md has a row for each call of AppService, and for no other", async () => {
  const named = [...(await rows()).keys()];
  assert.equal(AppService.methods.length, 124);
  assert.deepEqual(named, AppService.methods.map(({ name }) => name));
});

Deno.test("what the table says of a call is what the call does", async () => {
  await using cloud = await TestCloud.open();
  const made = await cloud.bootstrap();
  const table = await rows();
  for (const method of AppService.methods) {
    const { works, note } = table.get(method.name)!;
    assert.match(works, /^(yes|no)$/, method.name);
    const refusal = await refused(cloud, made, method);
    assert.equal(refusal === undefined ? "yes" : "no", works, `${method.name}: ${refusal}`);
    if (refusal !== undefined) {
      assert.equal(note, refusal, method.name);
      assert.ok(refusal.length > 20, `${method.name} says why`);
    }
  }
});

/** What a call without fields answers when it does nothing; undefined when it does something. */
async function refused(
  cloud: TestCloud,
  made: Parameters<typeof apiKey>[0],
  method: (typeof AppService.methods)[number],
): Promise<string | undefined> {
  const transport = cloud.transport(apiKey(made));
  const input = create(method.input);
  const { methodKind } = method;
  try {
    if (methodKind === "unary") {
      const unary = { ...method, methodKind };
      await transport.unary(unary, undefined, undefined, undefined, input);
    } else {
      const signal = AbortSignal.timeout(10_000);
      const sent = each(methodKind === "client_streaming" ? [] : [input]);
      const streaming = { ...method, methodKind };
      const answer = await transport.stream(streaming, signal, undefined, undefined, sent);
      for await (const _ of answer.message) break;
    }
  } catch (error) {
    const { code, rawMessage } = ConnectError.from(error);
    if (code === Code.Unimplemented) return rawMessage;
  }
  return undefined;
}

async function* each<T>(messages: readonly T[]): AsyncGenerator<T> {
  for (const message of messages) yield await Promise.resolve(message);
}

Deno.test("absentCalls() names calls that there are", () => {
  const names = new Set<string>(AppService.methods.map(({ localName }) => localName));
  for (const name of Object.keys(ABSENT_CALLS)) assert.ok(names.has(name), name);
  assert.equal(Object.keys(absentCalls()).length, Object.keys(ABSENT_CALLS).length);
});

Deno.test("docs/api.md names each service that the cloud serves, and no other", async () => {
  await using cloud = await TestCloud.open();
  const text = await Deno.readTextFile(new URL("../../docs/api.md", import.meta.url));
  const section = /^## What the cloud serves\n([\s\S]*?)\n## /m.exec(text)?.[1] ?? "";
  const named = [...section.matchAll(/^\| `([\w.]+)`/gm)].map(([, name]) => name);
  const served = [...cloud.services.router.services].map(({ service }) => service.typeName);
  assert.deepEqual(named.toSorted(), served.toSorted());
});
