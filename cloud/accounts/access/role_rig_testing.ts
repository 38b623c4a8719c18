import { type DescMethod, type DescService, type Message, toJson } from "@bufbuild/protobuf";
import { type Client, Code, ConnectError, createClient, type Transport } from "@connectrpc/connect";
import { DatabaseSync, type StatementSync } from "node:sqlite";
import { addOwner } from "../../local/people/people_command.ts";
import { NOON, uploadImage } from "../../data/ingest/data_testing.ts";
import { DataService } from "../../../shared/gen/viam/app/data/v1/data_pb.ts";
import { DataSyncService } from "../../../shared/gen/viam/app/datasync/v1/data_sync_pb.ts";
import { DataPipelinesService } from "../../../shared/gen/viam/app/datapipelines/v1/data_pipelines_pb.ts";
import { DatasetService } from "../../../shared/gen/viam/app/dataset/v1/dataset_pb.ts";
import { apiKey, type Credentials, partSecret, TestCloud } from "../../serve/cloud_testing.ts";
import { systemRandom } from "../../storage/keys/random.ts";
import { BSON_LIMIT, hostFor, type Ids, requestFor } from "./role_requests_testing.ts";
import { userByEmail } from "../people/users.ts";
import {
  enrollmentOf,
  jobOf,
  locationSecret,
  otherOrganization,
  sequencesOf,
} from "./role_things_testing.ts";

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
const LOCATION_CALLERS = ["owner@outer", "owner@guest", "owner@elsewhere"] as const;
export type CallerName = typeof CALLERS[number] | typeof LOCATION_CALLERS[number];

/** How long a call may take that ends on its own. */
export const PATIENCE_MS = 90_000;

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
      const { accessToken, id } = await cloud.services.accounts.sessions
        .start(user!.id, "password", origin);
      return { token: accessToken, userId: user!.id, session: id };
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
    const binary = await uploadImage(sync, made.part_id, NOON, new Uint8Array([1, 2, 3]));
    const { moduleId } = await app.createModule({ name: "arms", organizationId });
    const sequences = await sequencesOf(cloud, made);
    await app.createOrganizationInvite({ organizationId, email: INVITED, sendEmailInvite: false });
    await cloud.services.changes.drain();
    const ids = {
      ...await enrollmentOf(cloud, made, "k".repeat(40)),
      ...sequences,
      host: made.fqdn,
      call: crypto.randomUUID(),
      dataset: dataset.id,
      query,
      pipeline,
      binary,
      job: await jobOf(cloud, made),
      session: person.session,
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
    const foreign = await otherOrganization(cloud, deps);
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

  /**
   * The code and the message of a call that names these things, without their ids. After `ok`: what
   * of the other organisation it answered or wrote.
   */
  async refusal(caller: CallerName, method: DescMethod, ids: Ids): Promise<string> {
    try {
      const answer = await this.#send(caller, method, ids, PATIENCE_MS);
      const asked = JSON.stringify(toJson(method.input, requestFor(method, ids)));
      const told = answer ? JSON.stringify(toJson(method.output, answer)) : "";
      const named = (text: string) =>
        Object.keys(this.foreign).filter((name) =>
          text.includes(this.foreign[name]!) && !asked.includes(this.foreign[name]!)
        );
      return ["ok", ...named(told), ...this.#changedRows().flatMap(named)].join(", ");
    } catch (error) {
      const { code, rawMessage } = ConnectError.from(error);
      // An id may hold another one, and of that of a file only the end is said.
      const hidden = Object.entries(ids).sort(([, a], [, b]) => b.length - a.length)
        .flatMap(([name, id]) => [[id, name], [id.split("/").at(-1)!, name]] as const)
        .reduce((text, [id, name]) => text.replaceAll(id, name), rawMessage);
      return `${Code[code]} ${hidden}`;
    } finally {
      await this.#restore();
    }
  }

  async #send(caller: CallerName, method: DescMethod, ids: Ids, patienceMs: number) {
    const host = hostFor(method, ids);
    const headers = host === undefined ? {} : { "rpc-host": host };
    return await send(
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

  /** What is in the database now and was not, and the other way about. */
  #changedRows(): string[] {
    if (this.#dataVersion() === this.#version) return [];
    return this.#tables().flatMap((table) => {
      const [now, kept] = [`SELECT * FROM main."${table}"`, `SELECT * FROM kept."${table}"`];
      return [`${now} EXCEPT ${kept}`, `${kept} EXCEPT ${now}`]
        .flatMap((sql) => this.store.prepare(sql).all().map((row) => JSON.stringify(row)));
    });
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

/** Sends a call and gives back the first message that is answered. */
async function send(
  transport: Transport,
  method: DescMethod,
  { input, headers }: { readonly input: Message; readonly headers: HeadersInit },
  patienceMs: number,
): Promise<Message | undefined> {
  const { methodKind } = method;
  if (methodKind === "unary") {
    const unary = { ...method, methodKind };
    return (await transport.unary(unary, undefined, undefined, headers, input)).message;
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
    for await (const message of answer.message) return message;
    return undefined;
  } catch (error) {
    const { code } = ConnectError.from(error);
    // A stream that stays open was allowed.
    if (!ended.signal.aborted || code !== Code.Canceled) throw error;
    return undefined;
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
