import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { Code, ConnectError } from "@connectrpc/connect";
import { isJsonObject } from "../../../shared/base/json/json.ts";
import type { Actor } from "../../accounts/access/caller.ts";
import type { PartRow } from "../../accounts/access/scope.ts";
import { checkedConfig } from "../../fleet/configuration/config_check.ts";
import type { RecentDocuments } from "../../fleet/configuration/recent_documents.ts";
import type { Revisions } from "../../fleet/machines/revisions.ts";
import { readTriggers, type TriggerEntry } from "./trigger_definition.ts";
import { refusal } from "../../../shared/rpc/reasons.ts";

/** Reads and changes the triggers in the configurations of parts. */
export class TriggerEditor {
  /** @param documents keep what was read of a save, for the machine that fetches it */
  constructor(
    private readonly revisions: Pick<Revisions, "current" | "save">,
    private readonly documents: RecentDocuments,
  ) {}

  /** Throws NOT_FOUND. */
  async read(part: PartRow, name: string): Promise<TriggerEntry> {
    const entry = readTriggers(await this.#config(part)).find((one) => one.name === name);
    if (!entry) throw noTrigger(name);
    return entry;
  }

  /** Adds a trigger, or puts it in the place of another. Throws INVALID_ARGUMENT with every problem. */
  async set(part: PartRow, trigger: JsonObject, replaces: string, actor: Actor): Promise<void> {
    const replaced = replaces || trigger["name"];
    await this.#change(part, actor, (triggers) => {
      const at = triggers.findIndex((one) => nameOf(one) === replaced);
      if (at < 0 && replaces !== "") throw noTrigger(replaces);
      return at < 0 ? [...triggers, trigger] : triggers.with(at, trigger);
    });
  }

  /** Throws NOT_FOUND. */
  async delete(part: PartRow, name: string, actor: Actor): Promise<void> {
    await this.#change(part, actor, (triggers) => {
      const left = triggers.filter((one) => nameOf(one) !== name);
      if (left.length === triggers.length) throw noTrigger(name);
      return left;
    });
  }

  async #change(
    part: PartRow,
    actor: Actor,
    edit: (triggers: readonly JsonValue[]) => JsonValue[],
  ): Promise<void> {
    const before = await this.#config(part);
    const triggers = Array.isArray(before["triggers"]) ? before["triggers"] : [];
    const config = await checkedConfig(
      { ...before, triggers: edit(triggers) },
      this.documents,
    );
    // Somebody else may have saved between the reading and this.
    await this.revisions.save(part.id, { config, lastKnownUpdateMs: part.last_updated }, actor);
  }

  async #config(part: PartRow): Promise<JsonObject> {
    return JSON.parse((await this.revisions.current(part)).config) as JsonObject;
  }
}

function nameOf(trigger: JsonValue): JsonValue | undefined {
  return isJsonObject(trigger) ? trigger["name"] : undefined;
}

function noTrigger(name: string): ConnectError {
  if (name === "") return new ConnectError("the trigger's name is missing", Code.InvalidArgument);
  return refusal(
    "NAME_UNKNOWN",
    { name },
    `the part has no trigger ${JSON.stringify(name)}`,
    Code.NotFound,
  );
}
