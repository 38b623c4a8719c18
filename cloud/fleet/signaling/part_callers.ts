import { createContextValues } from "@connectrpc/connect";
import { identityKey } from "../../../shared/cloud/auth/identity.ts";
import type { Role } from "../../../shared/rights/roles.ts";
import { type Actor, roleAt } from "../../accounts/access/caller.ts";
import type { Callers } from "../../accounts/access/callers.ts";
import { notFound, partPlace, type PartRow, type Scope } from "../../accounts/access/scope.ts";
import { partName } from "../../api/addresses/host_names.ts";
import type { Queries } from "../../storage/database/cloud_database.ts";
import type { CallerFacts, CallerLookup } from "../relay/reaching_caller.ts";

export interface PartCallersOptions {
  readonly queries: Queries;
  readonly callers: Callers;
  /** Domain of the machines' host names. */
  readonly domain: string;
}

/** Who is what on the part that a name means. */
export class PartCallers implements CallerLookup {
  constructor(private readonly options: PartCallersOptions) {}

  /** The part as far as the caller sees it. */
  async partOf(scope: Scope, host: string): Promise<PartRow | undefined> {
    const name = partName(host, this.options.domain);
    return name && await scope.parts().selectAll("parts")
      .where("parts.location_id", "=", name.locationId)
      .where("parts.dns_label", "=", name.dnsLabel).executeTakeFirst();
  }

  /**
   * What the caller is on the part; undefined: it does not see the part.
   *
   * @throws {ConnectError} PERMISSION_DENIED when it sees the part and is nothing on it
   */
  async roleOf(
    scope: Scope,
    host: string,
  ): Promise<{ readonly part: PartRow; readonly role: Role } | undefined> {
    const own = await this.partOf(scope, host);
    const part = own ?? await this.#siblingOf(scope, host);
    if (!part) return undefined;
    const role = own ? roleAt(scope.caller, partPlace(own)) : "operator";
    return role ? { part, role } : scope.refuse("machine");
  }

  async look(facts: CallerFacts): Promise<{ role: Role; actor: Actor }> {
    const scope = await this.#scope(facts);
    const found = await this.roleOf(scope, facts.host);
    if (!found) throw notFound("machine", facts.host);
    return { role: found.role, actor: scope.caller.actor };
  }

  async stands(facts: CallerFacts): Promise<void> {
    await this.#scope(facts);
  }

  async #scope({ identity }: CallerFacts): Promise<Scope> {
    const values = createContextValues().set(identityKey, identity);
    return await this.options.callers.scope({ values });
  }

  /** Another part of the machine whose main part calls. */
  async #siblingOf({ caller: { actor } }: Scope, host: string): Promise<PartRow | undefined> {
    const { queries, domain } = this.options;
    const name = partName(host, domain);
    if (!name || actor.type !== "robot-secret") return undefined;
    return await queries.selectFrom("parts").selectAll("parts")
      .innerJoin("parts as main", "main.machine_id", "parts.machine_id")
      .where("main.id", "=", actor.id).where("main.is_main", "=", 1)
      .where("parts.location_id", "=", name.locationId)
      .where("parts.dns_label", "=", name.dnsLabel).executeTakeFirst();
  }
}
