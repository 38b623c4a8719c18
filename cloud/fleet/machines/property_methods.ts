import { toJson } from "@bufbuild/protobuf";
import { type Value, ValueSchema } from "@bufbuild/protobuf/wkt";
import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { Code, ConnectError, type ServiceImpl } from "@connectrpc/connect";
import { isJsonObject } from "../../../shared/base/json/json.ts";
import type { AppService } from "../../../shared/gen/viam/app/v1/app_pb.ts";
import { checkedConfig } from "../configuration/config_check.ts";
import { parseDocument } from "../configuration/config_document.ts";
import { withValue } from "../fragments/json_path.ts";
import { savedHow } from "../fragments/saved_how.ts";
import type { MachineMethodsOptions } from "./machine_methods.ts";

const MOST_CHANGES = 1_000;

/** The call of AppService that sets single values of a part's configuration. */
export function propertyMethods(
  { callers, revisions, documents }: Pick<
    MachineMethodsOptions,
    "callers" | "revisions" | "documents"
  >,
): Partial<ServiceImpl<typeof AppService>> {
  return {
    /**
     * Steps of a path are keys, and names or places of entries of lists, as in `fragment_mods`.
     * Changes whose path leads nowhere are answered with an error; the others are one save.
     */
    async setConfigProperty({ robotPartId, propertyChanges }, context) {
      const scope = await callers.scope(context);
      const part = await scope.part(robotPartId, "manage");
      if (propertyChanges.length === 0 || propertyChanges.length > MOST_CHANGES) {
        throw new ConnectError(
          `property_changes: 1 to ${MOST_CHANGES} are made at once`,
          Code.InvalidArgument,
        );
      }
      const current = await revisions.current(part);
      let config: JsonObject = parseDocument(current.config).value;
      const results = propertyChanges.map(({ path, value }) => {
        const changed = withProperty(config, path, value);
        if (typeof changed === "string") return { path, success: false, error: changed };
        config = changed;
        return { path, success: true, ...(value ? { value } : {}) };
      });
      if (results.some(({ success }) => success)) {
        const edit = { config: await checkedConfig(config, documents), how: savedHow(context) };
        await revisions.save(
          part.id,
          { ...edit, lastKnownUpdateMs: part.last_updated },
          scope.caller.actor,
        );
      }
      return { propertyChanges: results };
    },
  };
}

/** The configuration with a value at a path, or what is wrong. */
function withProperty(
  config: JsonObject,
  path: string,
  value: Value | undefined,
): JsonObject | string {
  const steps = path.split(".");
  if (path === "" || steps.includes("")) return "path: steps with dots between them are expected";
  const json: JsonValue = value ? toJson(ValueSchema, value) as JsonValue : null;
  const changed = withValue(config, steps, json);
  return isJsonObject(changed) ? changed : "path: a list on this path has no such entry";
}
