import type { Clock } from "../../../shared/base/time/clock.ts";
import type { Identity } from "../../../shared/cloud/auth/identity.ts";
import { currentRecord } from "../../storage/audit/call_record.ts";
import type { ChangeFeed } from "../../storage/database/change_feed.ts";
import type { Queries } from "../../storage/database/cloud_database.ts";
import type { Caller } from "./caller.ts";
import { Callers } from "./callers.ts";
import { Scope } from "./scope.ts";

/** What stands for an identity where no token is: who has the data folder makes every call. */
export const LOCAL_IDENTITY: Identity = {
  entity: "machine-cloud",
  credentialType: "api-key",
  claims: {},
};

/**
 * Every call is the same caller's: for a process that works on a data folder alone. Who may
 * read the folder may do everything in it, so there is nothing to sign in with. Never use it where
 * calls come over a network.
 */
export class LocalCallers extends Callers {
  readonly #queries: Queries;

  constructor(queries: Queries, changes: ChangeFeed, clock: Clock, private readonly owner: Caller) {
    super(queries, changes, clock);
    this.#queries = queries;
  }

  override of(): Promise<Caller> {
    return Promise.resolve(this.owner);
  }

  override scope(): Promise<Scope> {
    const { owner } = this;
    const record = currentRecord();
    // The audit log is kept by organisation: what is done before there is one is in no such log.
    if (record && owner.orgId !== "") {
      record.actorType = "operator";
      record.actor = owner.actor.id;
      record.orgId ||= owner.orgId;
    }
    return Promise.resolve(new Scope(this.#queries, owner));
  }
}
