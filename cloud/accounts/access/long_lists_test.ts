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

/** SQLite, on which this runs, takes 32,766 parameters in a statement, PostgreSQL 65,535. */
const LONG = 33_000;
/** Calls that would take the rig's things away, or leave them with another name: they come last. */
const CHANGES = /^(Delete|Remove|Unshare|Leave|Rotate)/;

/** A list of texts, messages or values of an enumeration, and the fields that lead to it. */
type Place = readonly DescField[];

function places(type: DescMessage, above: Place = []): Place[] {
  return type.fields.flatMap((field) => {
    const place = [...above, field];
    if (field.fieldKind === "list") {
      const isText = field.listKind === "scalar" && field.scalar === ScalarType.STRING;
      return isText || field.listKind !== "scalar" ? [place] : [];
    }
    const isFurther = field.fieldKind === "message" && above.length < 2 && !field.oneof;
    return isFurther ? places(field.message, place) : [];
  });
}

/** An element of its own for each `n`. */
function element(field: DescField & { fieldKind: "list" }, n: number): unknown {
  if (field.listKind === "enum") return 1;
  if (field.listKind === "scalar") return `a${n}`;
  const message = reflect(field.message, create(field.message));
  for (const each of field.message.fields) {
    if (each.fieldKind !== "scalar" || each.scalar !== ScalarType.STRING || each.oneof) continue;
    message.set(each, `a${n}`);
  }
  return message;
}

function fill(message: ReflectMessage, [field, ...rest]: Place): void {
  if (field?.fieldKind === "list") {
    const list = message.get(field);
    for (let n = 0; n < LONG; n++) list.add(element(field, n));
  } else if (field?.fieldKind === "message") {
    if (!message.isSet(field)) message.set(field, reflect(field.message, create(field.message)));
    fill(message.get(field), rest);
  }
}

/** How the call ends for the first who may make it, the owner or the machine itself. */
async function outcome(rig: RoleRig, method: DescMethod, request: Message): Promise<string> {
  let end = "";
  for (const caller of ["owner@organization", "part"] as const) {
    const client = rig.client(method.parent, caller) as unknown as Record<
      string,
      (request: Message, options: CallOptions) => Promise<unknown>
    >;
    try {
      await client[method.localName]!(request, { timeoutMs: 60_000 });
      return "ok";
    } catch (error) {
      end = Code[ConnectError.from(error).code] ?? "";
      if (end !== "PermissionDenied") return end;
    }
  }
  return end;
}

interface CallOptions {
  readonly timeoutMs: number;
}

Deno.test("a list that is too long for the database is refused by name, in every unary call", async () => {
  await using rig = await RoleRig.open();
  const failed: string[] = [];
  let tried = 0;
  const all = [...rig.cloud.services.router.services].flatMap(({ service }) => service.methods)
    .filter(({ methodKind }) => methodKind === "unary");
  const changing = all.filter(({ name }) => CHANGES.test(name));
  for (const method of [...all.filter((each) => !changing.includes(each)), ...changing]) {
    for (const place of places(method.input)) {
      const request = requestFor(method, rig.ids);
      fill(reflect(method.input, request), place);
      tried++;
      const end = await outcome(rig, method, request);
      const field = place.map(({ name }) => name).join(".");
      if (end === "Internal" || end === "Unknown") failed.push(`${nameOf(method)} ${field}`);
    }
  }
  assert.deepEqual(failed, []);
  assert.ok(tried > 100, `${tried} lists`);
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
