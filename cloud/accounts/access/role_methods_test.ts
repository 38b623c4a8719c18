import assert from "node:assert/strict";
import { type DescMethod, equals } from "@bufbuild/protobuf";
import { Code, ConnectError } from "@connectrpc/connect";
import { DataService } from "../../../shared/gen/viam/app/data/v1/data_pb.ts";
import { AppService } from "../../../shared/gen/viam/app/v1/app_pb.ts";
import { SignalingService } from "../../../shared/gen/proto/rpc/webrtc/v1/signaling_pb.ts";
import { hostFor, type Ids, nameOf, requestFor } from "./role_requests_testing.ts";
import { type CallerName, CALLERS, PATIENCE_MS, RoleRig } from "./role_rig_testing.ts";

const TABLE = new URL("role_methods.txt", import.meta.url);

const STRANGERS = CALLERS.filter((caller) => caller !== "nobody");

/**
 * How a call ends for several callers, as letters of the table.
 *
 * @param patience as `patienceMs` of {@link RoleRig.outcome}, by the place of the caller
 */
async function outcomes(
  rig: RoleRig,
  method: DescMethod,
  callers: readonly CallerName[],
  patience: (at: number) => number,
): Promise<string[]> {
  const outcome = (caller: CallerName, at: number) =>
    rig.outcome({ caller, method, patienceMs: patience(at) });
  // Each waits for seconds for a machine that is away, and none changes what the others see.
  if (method.parent.typeName === SignalingService.typeName) {
    return await Promise.all(callers.map(outcome));
  }
  const found: string[] = [];
  for (const [at, caller] of callers.entries()) found.push(await outcome(caller, at));
  return found;
}

async function expected(): Promise<Map<string, string>> {
  const lines = (await Deno.readTextFile(TABLE)).split("\n")
    .filter((line) => line !== "" && !line.startsWith("#"));
  return new Map(lines.map((line) => {
    const [name = "", outcomes = ""] = line.split(/ +/);
    return [name, outcomes];
  }));
}

Deno.test("every call of the cloud ends for every caller as role_methods.txt says", async () => {
  await using rig = await RoleRig.open();
  const table = await expected();
  const methods = [...rig.cloud.services.router.services]
    .flatMap(({ service }) => service.methods);
  assert.deepEqual([...table.keys()].sort(), methods.map(nameOf).sort());

  const wrong: string[] = [];
  for (const method of methods) {
    const row = table.get(nameOf(method)) ?? "";
    const patience = (at: number) => row[at] === "+" ? 100 : PATIENCE_MS;
    const found = (await outcomes(rig, method, CALLERS, patience)).join("");
    if (found !== row) wrong.push(`${nameOf(method)} ${found}, not ${row}`);
  }
  assert.deepEqual(wrong, []);
});

Deno.test("an owner of the outer location owns the inner one, and guests operate its machines", async () => {
  await using rig = await RoleRig.open();
  const table = await expected();
  const machineIds = Object.fromEntries(
    ["location", "robot", "part", "otherPart", "spare"].map((name) => [name, rig.ids[name] ?? ""]),
  );
  const wrong: string[] = [];
  for (const { service } of rig.cloud.services.router.services) {
    for (const method of service.methods) {
      const name = nameOf(method);
      const row = table.get(name) ?? "";
      const patience = () => row.includes("+") ? 100 : PATIENCE_MS;
      const letterOf = (caller: typeof CALLERS[number]) => row[CALLERS.indexOf(caller)] ?? "";
      // Of the other things of the organisation a guest sees no more than anybody.
      const [all, some] = [rig.ids, machineIds].map((ids) => requestFor(method, ids));
      const isOfMachine = equals(method.input, all!, some!);
      const callers = ["owner@outer", "owner@guest", "owner@elsewhere"] as const;
      const asked = isOfMachine ? callers.slice(0, 2) : callers;
      const [outer, guest = "", ...elsewhere] = await outcomes(rig, method, asked, patience);
      if (outer !== letterOf("owner@location")) wrong.push(`owner@outer ${name}: ${outer}`);
      const allowed = [letterOf("operator@location"), ...elsewhere];
      const isOwn = name.startsWith("MLTrainingService/");
      if (!isOwn && !allowed.includes(guest)) {
        wrong.push(`owner@guest ${name}: ${guest}, not ${allowed.join(" or ")}`);
      }
    }
  }
  assert.deepEqual(wrong, []);
});

Deno.test("another organisation's things answer every caller as if they did not exist", async () => {
  await using rig = await RoleRig.open();
  assert.deepEqual(await differences(rig, rig.foreign, STRANGERS), []);
});

Deno.test("every call whose request has an id is tried with that of another organisation", async () => {
  await using rig = await RoleRig.open();
  const table = await expected();
  const methods = [...rig.cloud.services.router.services].flatMap(({ service }) => service.methods);
  const untried = methods.filter((method) => {
    const [ours, theirs] = [rig.ids, { ...rig.ids, ...rig.foreign }]
      .map((ids) => requestFor(method, ids));
    const hasId = method.input.fields.some(({ localName }) => /^(id|ids|\w+Ids?)$/.test(localName));
    return hasId && hostFor(method, rig.ids) === undefined && equals(method.input, ours!, theirs!);
  }).map(nameOf).filter((name) => !/^x+\?$/.test(table.get(name) ?? ""));
  // Namespaces are public, and containers are the cloud's own.
  assert.deepEqual(untried, [
    "AppService/GetOrganizationNamespaceAvailability",
    "MLTrainingService/GetContainer",
    "MLTrainingService/DeleteCustomTrainingContainer",
  ]);
});

Deno.test("sub-parts of another organisation answer as if they did not exist, their certificates too", async () => {
  await using rig = await RoleRig.open();
  const { subPart = "", subHost = "" } = rig.foreign;
  assert.ok(subPart !== "" && subHost !== "");
  // Who is something on a sub-part of their own, the main part of its machine among them.
  const callers = ["owner@robot", "operator@robot", "part", "secret@location"] as const;
  assert.deepEqual(await differences(rig, { part: subPart, host: subHost }, callers), []);
});

Deno.test("one thing of another organisation among own ones is as if it did not exist", async () => {
  await using rig = await RoleRig.open();
  const callers = ["owner@organization", "person", "part"] as const;
  const wrong: string[] = [];
  for (const name of Object.keys(rig.foreign)) {
    const [theirs, none] = [rig.foreign[name] ?? "", ofNothing(name)]
      .map((id) => ({ ...rig.ids, [name]: id }));
    wrong.push(...await unequalEnds(rig, theirs!, none!, callers));
  }
  // Sharing with another organisation is what it is for.
  assert.deepEqual(wrong.filter((line) => !line.includes(" AppService/ShareLocation: ok |")), []);
});

/** Where calls with these ids end otherwise than with ids of nothing, for any of the callers. */
function differences(rig: RoleRig, ids: Ids, callers: readonly CallerName[]): Promise<string[]> {
  const unknown = Object.fromEntries(Object.keys(ids).map((name) => [name, ofNothing(name)]));
  return unequalEnds(rig, ids, unknown, callers);
}

/** Where calls with some ids end otherwise than with others, for any of the callers. */
async function unequalEnds(
  rig: RoleRig,
  ids: Ids,
  others: Ids,
  callers: readonly CallerName[],
): Promise<string[]> {
  const wrong: string[] = [];
  for (const { service } of rig.cloud.services.router.services) {
    for (const method of service.methods) {
      const [theirs, none] = [ids, others].map((some) => requestFor(method, some));
      const isSameHost = hostFor(method, ids) === hostFor(method, others);
      if (isSameHost && equals(method.input, theirs!, none!)) continue;
      for (const caller of callers) {
        const found = await rig.refusal(caller, method, ids);
        const missing = await rig.refusal(caller, method, others);
        if (found !== missing || found.startsWith("ok, ")) {
          wrong.push(`${caller} ${nameOf(method)}: ${found} | ${missing}`);
        }
      }
    }
  }
  return wrong;
}

/** The id of a thing that is not there. */
function ofNothing(name: string): string {
  if (name === "location") return "zzzzzzzzzz";
  if (/host$/i.test(name)) return "none-main.zzzzzzzzzz.machine.internal";
  return name === "module" ? `${crypto.randomUUID()}:theirs` : crypto.randomUUID();
}

Deno.test("who owns nothing does not learn who is invited, and changes no data by a filter", async () => {
  await using rig = await RoleRig.open();
  const organizationId = rig.ids["organization"] ?? "";
  const data = { filter: { organizationIds: [organizationId] } };
  for (const caller of ["operator@organization", "operator@robot", "part"] as const) {
    const ends = [];
    for (const email of [rig.ids["invited"] ?? "", "nobody@example.com"]) {
      const app = rig.client(AppService, caller);
      const error = await app.deleteOrganizationInvite({ organizationId, email })
        .then(() => undefined, ConnectError.from);
      ends.push([error?.code, error?.rawMessage]);
    }
    assert.equal(ends[0]?.[0], Code.PermissionDenied, caller);
    assert.deepEqual(ends[0], ends[1], caller);
    const files = rig.client(DataService, caller);
    const { deletedCount } = await files.deleteBinaryDataByFilter(data);
    await files.addTagsToBinaryDataByFilter({ ...data, tags: ["theirs"] });
    assert.equal(deletedCount, 0n, caller);
  }
  const { data: kept } = await rig.client(DataService, "owner@organization").binaryDataByFilter({});
  assert.deepEqual(kept.map(({ metadata }) => metadata?.captureMetadata?.tags), [[]]);
});
