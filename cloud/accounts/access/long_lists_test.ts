/** Long lists in requests: more than one statement of a database takes. */
import {
  create,
  type DescField,
  type DescMessage,
  type DescMethod,
  type Message,
  ScalarType,
} from "@bufbuild/protobuf";
import { reflect, type ReflectMessage } from "@bufbuild/protobuf/reflect";
import { Code, ConnectError } from "@connectrpc/connect";
import assert from "node:assert/strict";
import { failure, TestCloud } from "../../serve/cloud_testing.ts";
import { nameOf, requestFor } from "./role_requests_testing.ts";
import { RoleRig } from "./role_rig_testing.ts";

/** SQLite takes 32,766 parameters in a statement, PostgreSQL 65,535. */
const LONG = 70_000;
/** Calls that would take the rig's things away, or leave them with another name. */
const CHANGES = /^(Delete|Remove|Unshare|Leave|Rotate)/;

/** A list of texts or of an enumeration, and the message fields that lead to it. */
type Place = readonly DescField[];

function places(type: DescMessage, above: Place = []): Place[] {
  return type.fields.flatMap((field) => {
    const place = [...above, field];
    if (field.fieldKind === "list") {
      const isText = field.listKind === "scalar" && field.scalar === ScalarType.STRING;
      return isText || field.listKind === "enum" ? [place] : [];
    }
    const isFurther = field.fieldKind === "message" && above.length < 2 && !field.oneof;
    return isFurther ? places(field.message, place) : [];
  });
}

function fill(message: ReflectMessage, [field, ...rest]: Place): void {
  if (field?.fieldKind === "list") {
    const list = message.get(field);
    for (let n = 0; n < LONG; n++) list.add(field.listKind === "enum" ? 1 : `a${n}`);
  } else if (field?.fieldKind === "message") {
    if (!message.isSet(field)) message.set(field, reflect(field.message, create(field.message)));
    fill(message.get(field), rest);
  }
}

async function outcome(rig: RoleRig, method: DescMethod, request: Message): Promise<string> {
  const client = rig.client(method.parent, "owner@organization") as unknown as Record<
    string,
    (request: Message, options: CallOptions) => Promise<unknown>
  >;
  try {
    await client[method.localName]!(request, { timeoutMs: 60_000 });
    return "ok";
  } catch (error) {
    return Code[ConnectError.from(error).code] ?? "";
  }
}

interface CallOptions {
  readonly timeoutMs: number;
}

Deno.test("a list that is too long for the database is refused by name, in every unary call", async () => {
  await using rig = await RoleRig.open();
  const failed: string[] = [];
  let tried = 0;
  for (const { service } of rig.cloud.services.router.services) {
    for (const method of service.methods) {
      if (method.methodKind !== "unary" || CHANGES.test(method.name)) continue;
      for (const place of places(method.input)) {
        const request = requestFor(method, rig.ids);
        fill(reflect(method.input, request), place);
        tried++;
        const end = await outcome(rig, method, request);
        const field = place.map(({ name }) => name).join(".");
        if (end === "Internal" || end === "Unknown") failed.push(`${nameOf(method)} ${field}`);
      }
    }
  }
  assert.deepEqual(failed, []);
  assert.ok(tried > 50, `${tried} lists`);
});

Deno.test("authorizations and permissions of one call are a thousand at most", async () => {
  await using cloud = await TestCloud.open();
  const made = await cloud.bootstrap();
  const app = cloud.app(made);
  const authorization = {
    authorizationType: "role",
    authorizationId: "robot_operator",
    resourceType: "robot",
    resourceId: made.machine_id,
  };
  const asked = { resourceType: "robot", resourceId: made.machine_id, permissions: [] };
  const calls = {
    createKey: (count: number) =>
      app.createKey({ authorizations: new Array(count).fill(authorization) }),
    checkPermissions: (count: number) =>
      app.checkPermissions({ permissions: new Array(count).fill(asked) }),
  };
  for (const [name, call] of Object.entries(calls)) {
    const { code, message } = await failure(call(1_001));
    assert.equal(code, Code.InvalidArgument, name);
    assert.match(message, /there are more than 1000/, name);
  }
  assert.equal((await calls.checkPermissions(1_000)).authorizedPermissions.length, 1_000);
});
