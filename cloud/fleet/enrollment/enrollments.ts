import { createHash } from "node:crypto";
import { Code, ConnectError } from "@connectrpc/connect";
import type { Selectable } from "kysely";
import { faultPoint } from "../../../shared/base/faults/fault_point.ts";
import type { Clock } from "../../../shared/base/time/clock.ts";
import type { Actor } from "../../accounts/access/caller.ts";
import { notFound } from "../../accounts/access/scope.ts";
import { currentRecord } from "../../storage/audit/call_record.ts";
import type { CloudDatabase, Queries } from "../../storage/database/cloud_database.ts";
import type {
  EnrollmentsTable,
  EnrollmentTokensTable,
} from "../../storage/database/enrollment_schema.ts";
import type { Random } from "../../storage/keys/random.ts";
import { createMachine } from "../machines/creation.ts";
import type { ChangedMachines } from "../presence/changed_machines.ts";
import { countsUp, freeName, nameByPattern } from "./machine_names.ts";
import { type Template, templateConfig } from "./machine_template.ts";

export type TokenRow = Selectable<EnrollmentTokensTable>;
export type EnrollmentRow = Selectable<EnrollmentsTable>;

/** What a device reports of itself; nothing of it is proven. */
export interface DeviceFacts {
  readonly hostName: string;
  readonly serial: string;
  readonly mac: string;
  readonly platform: string;
  readonly agentVersion: string;
}

/** How a device stands. */
export type Outcome =
  | { readonly kind: "enrolled"; readonly machineId: string }
  | { readonly kind: "pending" };

export interface EnrollmentsOptions {
  readonly queries: Queries;
  /** Resolves when what was written is on the disk; others continue meanwhile. */
  readonly transact: CloudDatabase["sharedTransaction"];
  readonly changed: Pick<ChangedMachines, "add">;
  readonly clock: Clock;
  readonly random: Random;
}

/** Devices of one token that were turned away and are still known. */
const KEPT_REFUSED = 1_000;
/** How old a note of when a device called last may get: devices that wait call all the time. */
const SEEN_EVERY_MS = 60_000;

/** What the database keeps of a token or of a device's key. */
export function hashOf(kind: "token" | "device", text: string): string {
  return createHash("sha256").update(`enrollment ${kind}\0${text}`).digest("base64url");
}

/** Devices that become machines. */
export class Enrollments {
  constructor(private readonly options: EnrollmentsOptions) {}

  async tokenOf(token: string): Promise<TokenRow | undefined> {
    return await this.options.queries.selectFrom("enrollment_tokens").selectAll()
      .where("hash", "=", hashOf("token", token)).executeTakeFirst();
  }

  /**
   * Takes a device in. The row and the machine are one transaction, so the same key gives the same
   * machine whatever was killed in between.
   *
   * @throws {ConnectError} FAILED_PRECONDITION when the token expired, RESOURCE_EXHAUSTED when it
   * made as many as it may, PERMISSION_DENIED for who was turned away
   */
  async enroll(
    token: TokenRow,
    device: { readonly key: string; readonly facts: DeviceFacts; readonly address: string },
  ): Promise<Outcome> {
    const hash = hashOf("device", device.key);
    const known = await this.#known(this.options.queries, token.id, hash);
    if (known) return await this.#again(known, device.address);
    const outcome = await this.options.transact<Outcome>(async (transaction) => {
      const other = await this.#known(transaction, token.id, hash);
      if (other) return outcomeOf(other);
      const row = await this.#newRow(transaction, token, { ...device, hash });
      faultPoint("enrollment.after-row");
      if (row.state === "pending") return { kind: "pending" };
      const { machineId } = await this.#makeMachine(transaction, token, row);
      faultPoint("enrollment.after-machine");
      return { kind: "enrolled", machineId };
    });
    if (outcome.kind === "enrolled") this.options.changed.add(token.org_id, outcome.machineId);
    return outcome;
  }

  /** Makes a machine of a device that waits. @param name in place of the one by the pattern */
  async approve(
    enrollment: EnrollmentRow,
    name: string,
  ): Promise<{ machineId: string; name: string }> {
    const { orgId, ...made } = await this.options.transact(async (transaction) => {
      const { row, token } = await pendingRow(transaction, enrollment.id);
      const made = await this.#makeMachine(transaction, token, row, name);
      return { ...made, orgId: token.org_id };
    });
    this.options.changed.add(orgId, made.machineId);
    return made;
  }

  async refuse(enrollment: EnrollmentRow): Promise<void> {
    await this.options.transact(async (transaction) => {
      const { row } = await pendingRow(transaction, enrollment.id);
      await transaction.updateTable("enrollments").set({ state: "refused" })
        .where("id", "=", row.id).execute();
      const oldest = transaction.selectFrom("enrollments").select("seq")
        .where("token_id", "=", row.token_id).where("state", "=", "refused")
        .orderBy("seq", "desc").limit(Number.MAX_SAFE_INTEGER).offset(KEPT_REFUSED);
      await transaction.deleteFrom("enrollments").where("seq", "in", oldest).execute();
    });
  }

  async #known(
    queries: Queries,
    tokenId: string,
    hash: string,
  ): Promise<EnrollmentRow | undefined> {
    return await queries.selectFrom("enrollments").selectAll()
      .where("token_id", "=", tokenId).where("device_hash", "=", hash).executeTakeFirst();
  }

  async #again(row: EnrollmentRow, address: string): Promise<Outcome> {
    const { queries, clock } = this.options;
    const now = clock.now().getTime();
    if (now - row.last_seen_at >= SEEN_EVERY_MS) {
      await queries.updateTable("enrollments").set({ last_seen_at: now, address })
        .where("id", "=", row.id).execute();
    }
    return outcomeOf(row);
  }

  async #newRow(
    queries: Queries,
    token: TokenRow,
    device: { readonly hash: string; readonly facts: DeviceFacts; readonly address: string },
  ): Promise<EnrollmentRow> {
    const { clock, random } = this.options;
    const now = clock.now().getTime();
    if (token.expires_at !== null && token.expires_at <= now) {
      throw new ConnectError("this enrollment token has expired", Code.FailedPrecondition);
    }
    if (await usedOf(queries, token.id) >= token.max_machines) {
      throw new ConnectError(
        `this enrollment token is for ${token.max_machines} machines, and as many have come`,
        Code.ResourceExhausted,
      );
    }
    const id = random.uuid();
    await queries.insertInto("enrollments").values({
      ...{ id, token_id: token.id, location_id: token.location_id, device_hash: device.hash },
      state: "pending",
      facts: JSON.stringify(device.facts),
      ...{ address: device.address, created_at: now, last_seen_at: now, machine_id: null },
    }).execute();
    const row = await queries.selectFrom("enrollments").selectAll().where("id", "=", id)
      .executeTakeFirstOrThrow();
    return token.needs_approval === 1 ? row : { ...row, state: "enrolled" };
  }

  async #makeMachine(
    queries: Queries,
    token: TokenRow,
    row: EnrollmentRow,
    wanted = "",
  ): Promise<{ machineId: string; name: string }> {
    const { clock, random } = this.options;
    const { org_id: orgId, location_id: locationId } = token;
    const name = wanted || await this.#nextName(queries, token, row);
    const actor: Actor = { type: token.created_by_type, id: token.created_by };
    const record = currentRecord();
    // A device makes its machine in the name of who made the token.
    if (record && record.actor === "") {
      Object.assign(record, { orgId, actorType: actor.type, actor: actor.id });
    }
    const template = JSON.parse(token.template) as Template;
    const { machineId } = await createMachine(
      { queries, random, now: clock.now() },
      { orgId, locationId, name, config: await templateConfig(queries, orgId, template) },
      { actor },
    );
    await queries.updateTable("enrollments").set({ state: "enrolled", machine_id: machineId })
      .where("id", "=", row.id).execute();
    return { machineId, name };
  }

  async #nextName(queries: Queries, token: TokenRow, row: EnrollmentRow): Promise<string> {
    const taken = await takenNames(queries, token.location_id);
    const facts = JSON.parse(row.facts) as DeviceFacts;
    const pattern = token.name_pattern;
    if (!countsUp(pattern)) return freeName(nameByPattern(pattern, facts, 0), taken);
    const { counter } = await queries.selectFrom("enrollment_tokens").select("counter")
      .where("id", "=", token.id).executeTakeFirstOrThrow();
    let n = counter + 1;
    while (taken.has(nameByPattern(pattern, facts, n))) n += 1;
    await queries.updateTable("enrollment_tokens").set({ counter: n })
      .where("id", "=", token.id).execute();
    return nameByPattern(pattern, facts, n);
  }
}

/** Names of machines in a location. */
export async function takenNames(queries: Queries, locationId: string): Promise<Set<string>> {
  const rows = await queries.selectFrom("machines").select("name")
    .where("location_id", "=", locationId).execute();
  return new Set(rows.map(({ name }) => name));
}

/** Machines that a token made, and devices that wait. */
export async function usedOf(queries: Queries, tokenId: string): Promise<number> {
  const { count } = await queries.selectFrom("enrollments")
    .select((eb) => eb.fn.countAll<number>().as("count"))
    .where("token_id", "=", tokenId).where("state", "in", ["pending", "enrolled"])
    .executeTakeFirstOrThrow();
  return Number(count);
}

async function pendingRow(
  queries: Queries,
  id: string,
): Promise<{ row: EnrollmentRow; token: TokenRow }> {
  const row = await queries.selectFrom("enrollments").selectAll().where("id", "=", id)
    .executeTakeFirst();
  const token = row && await queries.selectFrom("enrollment_tokens").selectAll()
    .where("id", "=", row.token_id).executeTakeFirst();
  if (!row || !token) throw notFound("enrollment", id);
  if (row.state === "pending") return { row, token };
  throw new ConnectError(
    row.state === "enrolled" ? "the device is a machine already" : "the device was turned away",
    Code.FailedPrecondition,
  );
}

function outcomeOf(row: EnrollmentRow): Outcome {
  if (row.state === "refused") {
    throw new ConnectError(
      "this device was rejected; ask an owner of the location",
      Code.PermissionDenied,
    );
  }
  return row.machine_id === null
    ? { kind: "pending" }
    : { kind: "enrolled", machineId: row.machine_id };
}
