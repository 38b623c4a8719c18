import { Code, ConnectError } from "@connectrpc/connect";
import type { Clock } from "../../../shared/base/time/clock.ts";
import { type ChangeFeed, recordChange } from "../../storage/database/change_feed.ts";
import type { Queries } from "../../storage/database/cloud_database.ts";
import { recordAccessChange } from "../../storage/keys/access_changes.ts";
import type { Random } from "../../storage/keys/random.ts";
import type { LocationRow, PartRow } from "./scope.ts";

/** How many secrets of one part or location count at a time: the one before, and its successor. */
const MOST_SECRETS = 2;

export interface SecretChangesOptions {
  readonly queries: Queries;
  readonly changes: ChangeFeed;
  readonly clock: Clock;
  readonly random: Random;
}

/**
 * Rotates the secrets of parts and locations: a second one is made, and when everybody has it the
 * first is deleted. Tokens of a deleted secret end at once.
 */
export class SecretChanges {
  constructor(private readonly options: SecretChangesOptions) {}

  /** @throws {ConnectError} FAILED_PRECONDITION when the part has two already */
  async createForPart(part: PartRow): Promise<void> {
    const { queries, changes, clock, random } = this.options;
    await queries.transaction().execute(async (transaction) => {
      const rows = await transaction.selectFrom("part_secrets").select(["id", "created_at"])
        .where("part_id", "=", part.id).where("state", "=", "enabled").execute();
      const created_at = timeAfter(rows, clock.now(), "part");
      await transaction.insertInto("part_secrets")
        .values({ id: random.uuid(), part_id: part.id, created_at, state: "enabled" }).execute();
      await recordChange(transaction, ofPart(part), clock.now());
    });
    await changes.drain();
  }

  /** @throws {ConnectError} NOT_FOUND, and FAILED_PRECONDITION for the last one */
  async deleteOfPart(part: PartRow, secretId: string): Promise<void> {
    const { queries, changes, clock } = this.options;
    await queries.transaction().execute(async (transaction) => {
      const rows = await transaction.selectFrom("part_secrets").select(["id", "created_at"])
        .where("part_id", "=", part.id).where("state", "=", "enabled").execute();
      mustBeReplaced(rows, secretId, "part");
      await transaction.updateTable("part_secrets").set({ state: "disabled" })
        .where("id", "=", secretId).execute();
      await recordChange(transaction, ofPart(part), clock.now());
    });
    await changes.drain();
  }

  /** @throws {ConnectError} FAILED_PRECONDITION when the location has two already */
  async createForLocation(location: LocationRow): Promise<void> {
    const { queries, changes, clock, random } = this.options;
    await queries.transaction().execute(async (transaction) => {
      const rows = await transaction.selectFrom("location_secrets").select(["id", "created_at"])
        .where("location_id", "=", location.id).where("state", "=", "enabled").execute();
      const created_at = timeAfter(rows, clock.now(), "location");
      await transaction.insertInto("location_secrets")
        .values({ id: random.uuid(), location_id: location.id, created_at, state: "enabled" })
        .execute();
      await recordLocation(transaction, location, clock.now());
    });
    await changes.drain();
  }

  /** @throws {ConnectError} NOT_FOUND, and FAILED_PRECONDITION for the last one */
  async deleteOfLocation(location: LocationRow, secretId: string): Promise<void> {
    const { queries, changes, clock } = this.options;
    await queries.transaction().execute(async (transaction) => {
      const rows = await transaction.selectFrom("location_secrets").select(["id", "created_at"])
        .where("location_id", "=", location.id).where("state", "=", "enabled").execute();
      mustBeReplaced(rows, secretId, "location");
      await transaction.updateTable("location_secrets").set({ state: "disabled" })
        .where("id", "=", secretId).execute();
      await recordLocation(transaction, location, clock.now());
    });
    await changes.drain();
  }
}

interface SecretRow {
  readonly id: string;
  readonly created_at: number;
}

const ofPart = ({ id, org_id }: PartRow) =>
  ({ orgId: org_id, partId: id, kind: "access" }) as const;

/** The parts that stand there, or in a location within it, learn of it. */
async function recordLocation(
  queries: Queries,
  { id, org_id }: LocationRow,
  now: Date,
): Promise<void> {
  await recordAccessChange(queries, org_id, [{ resource: "location", id }], now);
}

/**
 * The newest secret is given first, so a new one is later than the others whatever the clock
 * specifies.
 */
function timeAfter(rows: readonly SecretRow[], now: Date, what: string): number {
  if (rows.length >= MOST_SECRETS) {
    throw new ConnectError(
      `this ${what} has ${MOST_SECRETS} secrets; delete one of them first: ` +
        rows.map(({ id }) => id).join(", "),
      Code.FailedPrecondition,
    );
  }
  return Math.max(now.getTime(), ...rows.map((row) => row.created_at + 1));
}

function mustBeReplaced(rows: readonly SecretRow[], secretId: string, what: string): void {
  if (!rows.some(({ id }) => id === secretId)) {
    if (secretId === "") {
      throw new ConnectError("secret_id: the id of the secret is missing", Code.InvalidArgument);
    }
    throw new ConnectError(
      `this ${what} has no secret with id ${JSON.stringify(secretId)}`,
      Code.NotFound,
    );
  }
  if (rows.length > 1) return;
  throw new ConnectError(
    `this is the only secret of this ${what}; create another one first and give it to those who ` +
      "use this one",
    Code.FailedPrecondition,
  );
}
