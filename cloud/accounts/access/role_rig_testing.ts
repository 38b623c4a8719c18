import type { DescMethod, DescService, Message } from "@bufbuild/protobuf";
import { type Client, Code, ConnectError, createClient, type Transport } from "@connectrpc/connect";
import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import type { BootstrapResult } from "../../local/bootstrap/bootstrap.ts";
import { DatabaseSync, type StatementSync } from "node:sqlite";
import { addOwner } from "../../local/people/people_command.ts";
import { NOON, uploadPicture } from "../../data/ingest/data_testing.ts";
import { EnrollmentService } from "../../../shared/gen/machine/cloud/v1/enrollment_pb.ts";
import { DataService } from "../../../shared/gen/viam/app/data/v1/data_pb.ts";
import { DataSyncService } from "../../../shared/gen/viam/app/datasync/v1/data_sync_pb.ts";
import { DataPipelinesService } from "../../../shared/gen/viam/app/datapipelines/v1/data_pipelines_pb.ts";
import { DatasetService, DatasetType } from "../../../shared/gen/viam/app/dataset/v1/dataset_pb.ts";
import { apiKey, type Credentials, partSecret, TestCloud } from "../../serve/cloud_testing.ts";
import { systemRandom } from "../../storage/keys/random.ts";
import { BSON_LIMIT, hostFor, type Ids, requestFor } from "./role_requests_testing.ts";
import { userByEmail } from "../people/users.ts";

/**
 * Everybody who calls; `part` and `secret@location` have the secret of a machine and that of a
 * location, `ended` is a person whose membership ended, `person` an owner signed in. */
export const CALLERS = [
  "owner@organization",
  "operator@organization",
  "owner@location",
  "operator@location",
  "owner@robot",
  "operator@robot",
  "part",
  "secret@location",
  "person",
  "ended",
  "nobody",
] as const;
/**
 * Those whose rights follow from where the location stands: an owner of the location that it is in,
 * an owner of an organisation that it is shared with, and one of an organisation that it is not.
 */
export const LOCATION_CALLERS = ["owner@outer", "owner@guest", "owner@elsewhere"] as const;
export type CallerName = typeof CALLERS[number] | typeof LOCATION_CALLERS[number];

/** How long a call may take that ends on its own. */
export const PATIENCE_MS = 30_000;

/** What stands in the table for a code; every other end of a call is past the check of rights. */
const LETTERS: Readonly<Partial<Record<Code, string>>> = {
  [Code.PermissionDenied]: "-",
  [Code.NotFound]: "0",
  [Code.Unauthenticated]: "?",
  [Code.InvalidArgument]: "i",
  [Code.Unimplemented]: "x",
};

const ENDED = "ended@example.com";
const INVITED = "invited@example.com";
const PERSON = "person@example.com";

/** Calls the cloud as everybody. A cloud with one organisation, everybody who may call, and the way back to how it was. */
export class RoleRig implements AsyncDisposable {
  #version = 0;
  /** They put all tables back; prepared once, as that takes longer than to run them. */
  readonly #restoring: StatementSync[] = [];

  private constructor(
    readonly cloud: TestCloud,
    readonly ids: Ids,
    /** Things of another organisation. */
    readonly foreign: Ids,
    private readonly tokens: Readonly<Record<CallerName, string>>,
    private readonly store: DatabaseSync,
  ) {}

  static async open(): Promise<RoleRig> {
    const cloud = await TestCloud.open();
    const made = await cloud.bootstrap();
    const spare = await cloud.bootstrap({ machine: "spare" });
    const app = cloud.app(made);
    const { fragment } = await app.createFragment({ name: "f", organizationId: made.org_id });
    const { part } = await app.newRobotPart({ robotId: made.machine_id, partName: "arm" })
      .then(({ partId }) => app.getRobotPart({ id: partId }));
    const deps = { clock: cloud.clock, random: systemRandom };
    const { queries } = cloud.folder.database;
    const session = async (email: string) => {
      await addOwner(queries, { email, orgId: made.org_id }, deps);
      const user = await userByEmail(queries, email);
      const origin = { address: "127.0.0.1", client: "test" };
      const { accessToken } = await cloud.services.accounts.sessions
        .start(user!.id, "password", origin);
      return { token: accessToken, userId: user!.id };
    };
    const person = await session(PERSON);
    const ended = await session(ENDED);
    await app.deleteOrganizationMember({ organizationId: made.org_id, userId: ended.userId });
    const outer = await app.createLocation({ name: "Site", organizationId: made.org_id });
    const outerId = outer.location?.id ?? "";
    await app.updateLocation({ locationId: made.location_id, parentLocationId: outerId });
    const guest = await cloud.bootstrap({ organization: "Guest" });
    await app.shareLocation({ locationId: outerId, organizationId: guest.org_id });
    const key = async (role: string, resourceType: string, resourceId: string) => {
      const authorizationId = `${resourceType}_${role}`;
      const { id, key } = await app.createKey({
        name: `${role} ${resourceType}`,
        authorizations: [{ authorizationType: "role", authorizationId, resourceType, resourceId }],
      });
      return { type: "api-key", entity: id, payload: key };
    };
    const spareKey = await key("operator", "organization", made.org_id);
    const credentials: Partial<Record<CallerName, Credentials>> = {
      "owner@organization": apiKey(made),
      "operator@organization": await key("operator", "organization", made.org_id),
      "owner@location": await key("owner", "location", made.location_id),
      "operator@location": await key("operator", "location", made.location_id),
      "owner@robot": await key("owner", "robot", made.machine_id),
      "operator@robot": await key("operator", "robot", made.machine_id),
      part: partSecret(made),
      "secret@location": await locationSecret(app, made),
      "owner@outer": await key("owner", "location", outerId),
      "owner@guest": apiKey(guest),
      "owner@elsewhere": apiKey(await cloud.bootstrap({ organization: "Elsewhere" })),
    };
    const tokens: Record<string, string> = {
      person: person.token,
      ended: ended.token,
      nobody: "",
    };
    for (const [name, each] of Object.entries(credentials)) tokens[name] = await cloud.token(each);
    await cloud.services.changes.drain();
    const organizationId = made.org_id;
    const dataset = await cloud.client(DatasetService, apiKey(made))
      .createDataset({ name: "pictures", organizationId });
    const { id: query } = await cloud.client(DataService, apiKey(made))
      .createSavedQuery({ name: "q", organizationId, mqlBinary: [BSON_LIMIT] });
    const hourly = { name: "hourly", schedule: "@hourly", mqlBinary: [BSON_LIMIT] };
    const { id: pipeline } = await cloud.client(DataPipelinesService, apiKey(made))
      .createDataPipeline({ ...hourly, organizationId });
    const sync = cloud.client(DataSyncService, apiKey(made));
    const binary = await uploadPicture(sync, made.part_id, NOON, new Uint8Array([1, 2, 3]));
    const { moduleId } = await app.createModule({ name: "arms", organizationId });
    const sequences = await sequencesOf(cloud, made);
    await app.createOrganizationInvite({ organizationId, email: INVITED, sendEmailInvite: false });
    const enrolling = cloud.client(EnrollmentService, apiKey(made));
    const { token, enrollmentToken } = await enrolling.createEnrollmentToken({
      ...{ locationId: made.location_id, name: "kiosks", needsApproval: true },
    });
    await cloud.client(EnrollmentService).enroll({ token, deviceKey: "k".repeat(40) });
    const { enrollments } = await enrolling.listEnrollments({ locationId: made.location_id });
    await cloud.services.changes.drain();
    const ids = {
      enrollmentToken: enrollmentToken?.id ?? "",
      enrollment: enrollments[0]?.id ?? "",
      ...sequences,
      host: made.fqdn,
      call: crypto.randomUUID(),
      dataset: dataset.id,
      query,
      pipeline,
      binary,
      module: moduleId,
      invited: INVITED,
      organization: made.org_id,
      location: made.location_id,
      robot: made.machine_id,
      part: made.part_id,
      otherPart: part?.id ?? "",
      fragment: fragment?.id ?? "",
      key: spareKey.entity,
      user: person.userId,
      email: PERSON,
      spare: spare.machine_id,
    };
    const foreign = await otherOrganization(cloud);
    const store = new DatabaseSync(cloud.path("cloud.db"));
    store.exec("PRAGMA foreign_keys = OFF; PRAGMA busy_timeout = 5000; PRAGMA synchronous = OFF");
    store.exec(`ATTACH ':memory:' AS kept`);
    const rig = new RoleRig(cloud, ids, foreign, tokens as Record<CallerName, string>, store);
    for (const table of rig.#tables()) {
      store.exec(`CREATE TABLE kept."${table}" AS SELECT * FROM main."${table}"`);
      rig.#restoring.push(
        store.prepare(`DELETE FROM main."${table}"`),
        store.prepare(`INSERT INTO main."${table}" SELECT * FROM kept."${table}"`),
      );
    }
    rig.#version = rig.#dataVersion();
    return rig;
  }

  /**
   * How a call ends, as a letter of the table. Afterwards everything is as it was.
   *
   * @param patienceMs a stream without a message counts as allowed after this time
   */
  async outcome(
    { caller, method, patienceMs }: {
      caller: CallerName;
      method: DescMethod;
      patienceMs: number;
    },
  ): Promise<string> {
    try {
      await this.#send(caller, method, this.ids, patienceMs);
      return "+";
    } catch (error) {
      return LETTERS[ConnectError.from(error).code] ?? "+";
    } finally {
      await this.#restore();
    }
  }

  /** The code and the message of a call that names these things, without their ids. */
  async refusal(caller: CallerName, method: DescMethod, ids: Ids): Promise<string> {
    try {
      await this.#send(caller, method, ids, PATIENCE_MS);
      return "ok";
    } catch (error) {
      const { code, rawMessage } = ConnectError.from(error);
      // An id may hold another one.
      const hidden = Object.entries(ids).sort(([, a], [, b]) => b.length - a.length)
        .reduce((text, [name, id]) => text.replaceAll(id, name), rawMessage);
      return `${Code[code]} ${hidden}`;
    } finally {
      await this.#restore();
    }
  }

  async #send(caller: CallerName, method: DescMethod, ids: Ids, patienceMs: number) {
    const host = hostFor(method, ids);
    const headers = host === undefined ? {} : { "rpc-host": host };
    await send(
      this.#transport(caller),
      method,
      { input: requestFor(method, ids), headers },
      patienceMs,
    );
  }

  client<S extends DescService>(service: S, caller: CallerName): Client<S> {
    return createClient(service, this.#transport(caller));
  }

  #transport(caller: CallerName): Transport {
    const token = this.tokens[caller];
    const inner = this.cloud.transport();
    const headers = (init?: HeadersInit) => {
      const all = new Headers(init);
      if (token) all.set("authorization", `Bearer ${token}`);
      return all;
    };
    return {
      unary: (method, signal, timeout, header, input, values) =>
        inner.unary(method, signal, timeout, headers(header), input, values),
      stream: (method, signal, timeout, header, input, values) =>
        inner.stream(method, signal, timeout, headers(header), input, values),
    };
  }

  #tables(): string[] {
    const rows = this.store.prepare(
      "SELECT name FROM main.sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'",
    ).all();
    return rows.map(({ name }) => String(name)).filter((name) =>
      name !== "changes" && name !== "data_sources"
    );
  }

  #dataVersion(): number {
    return Number(this.store.prepare("PRAGMA main.data_version").get()?.["data_version"]);
  }

  async #restore(): Promise<void> {
    if (this.#dataVersion() === this.#version) return;
    this.store.exec("BEGIN IMMEDIATE");
    for (const statement of this.#restoring) statement.run();
    this.store.prepare(
      "INSERT INTO main.changes (org_id, part_id, kind, created_at) VALUES (?, NULL, 'access', 0)",
    ).run(this.ids["organization"] ?? "");
    this.store.exec("COMMIT");
    await this.cloud.services.changes.drain();
    this.#version = this.#dataVersion();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.store.close();
    await this.cloud[Symbol.asyncDispose]();
  }
}

/** A sequence of a machine, in a dataset that was exported. */
async function sequencesOf(
  cloud: TestCloud,
  made: BootstrapResult,
): Promise<{ readonly sequence: string; readonly export: string }> {
  const data = cloud.client(DataService, apiKey(made));
  const datasets = cloud.client(DatasetService, apiKey(made));
  const { id: sequence } = await data.createSequence({
    partId: made.part_id,
    resources: [{ resourceName: "eye", methodName: "ReadImage" }],
    startTime: timestampFromMs(NOON),
    endTime: timestampFromMs(NOON + 10_000),
  });
  const { id: datasetId } = await datasets.createDataset({
    ...{ name: "sequences", organizationId: made.org_id, type: DatasetType.SEQUENCE_DATA },
  });
  await data.addSequencesToDataset({ datasetId, sequenceIds: [sequence] });
  const { jobId } = await datasets.startSequenceDatasetExport({ datasetId });
  return { sequence, export: jobId };
}

/** What every machine of a location may sign in with, as the name of one of them. */
async function locationSecret(
  app: ReturnType<TestCloud["app"]>,
  { location_id: locationId, fqdn }: BootstrapResult,
): Promise<Credentials> {
  const { auth } = await app.createLocationSecret({ locationId });
  return {
    ...{ type: "robot-location-secret", entity: fqdn },
    payload: auth?.secrets.at(-1)?.secret ?? "",
  };
}

async function otherOrganization(cloud: TestCloud): Promise<Ids> {
  const made = await cloud.bootstrap({ organization: "Other" });
  const organizationId = made.org_id;
  const app = cloud.app(made);
  const { fragment } = await app.createFragment({ name: "theirs", organizationId });
  const dataset = await cloud.client(DatasetService, apiKey(made))
    .createDataset({ name: "theirs", organizationId });
  const { moduleId } = await app.createModule({ name: "theirs", organizationId });
  const { part: sub } = await app.newRobotPart({ robotId: made.machine_id, partName: "arm" })
    .then(({ partId }) => app.getRobotPart({ id: partId }));
  const hourly = { name: "theirs", schedule: "@hourly", mqlBinary: [BSON_LIMIT] };
  const { id: pipeline } = await cloud.client(DataPipelinesService, apiKey(made))
    .createDataPipeline({ ...hourly, organizationId });
  return {
    ...await sequencesOf(cloud, made),
    host: made.fqdn,
    pipeline,
    organization: made.org_id,
    location: made.location_id,
    robot: made.machine_id,
    part: made.part_id,
    subPart: sub?.id ?? "",
    subHost: sub?.fqdn ?? "",
    fragment: fragment?.id ?? "",
    key: made.api_key_id,
    dataset: dataset.id,
    module: moduleId,
  };
}

async function send(
  transport: Transport,
  method: DescMethod,
  { input, headers }: { readonly input: Message; readonly headers: HeadersInit },
  patienceMs: number,
): Promise<void> {
  const { methodKind } = method;
  if (methodKind === "unary") {
    await transport.unary({ ...method, methodKind }, undefined, undefined, headers, input);
    return;
  }
  const ended = new AbortController();
  const streaming = { ...method, methodKind };
  const isAnswer = method.parent.name === "SignalingService" && method.name === "Answer";
  const mayStayOpen = methodKind !== "client_streaming";
  const timer = setTimeout(() => ended.abort(), mayStayOpen ? patienceMs : PATIENCE_MS);
  try {
    const answer = await transport.stream(
      streaming,
      ended.signal,
      undefined,
      headers,
      // A machine that answers waits for calls first.
      isAnswer ? nothing(ended.signal) : only(input),
    );
    for await (const _ of answer.message) break;
  } catch (error) {
    const { code } = ConnectError.from(error);
    // A stream that stays open was allowed.
    if (!ended.signal.aborted || code !== Code.Canceled) throw error;
  } finally {
    clearTimeout(timer);
    ended.abort();
  }
}

async function* only<T>(message: T): AsyncGenerator<T> {
  yield await Promise.resolve(message);
}

// deno-lint-ignore require-yield -- it only waits
async function* nothing(signal: AbortSignal): AsyncGenerator<never> {
  await new Promise((resolve) => signal.addEventListener("abort", resolve, { once: true }));
}
