import { create, type JsonObject } from "@bufbuild/protobuf";
import {
  type FragmentImport,
  FragmentImportSchema,
} from "../../../shared/gen/viam/app/v1/app_pb.ts";

/** An import as it stands in `fragments` of a configuration. */
export function importEntry(one: FragmentImport): JsonObject {
  const variables = one.fragmentVariables ?? one.variables;
  return {
    id: one.fragmentId,
    ...(one.version === "" ? {} : { version: one.version }),
    ...(one.prefix ? { prefix: one.prefix } : {}),
    ...(Object.keys(variables).length === 0 ? {} : { variables }),
  };
}

/** The message for what {@link importEntry} made. */
export function toImport(entry: JsonObject): FragmentImport {
  const { id, version, prefix, variables } = entry;
  return create(FragmentImportSchema, {
    fragmentId: String(id),
    version: typeof version === "string" ? version : "",
    ...(typeof prefix === "string" ? { prefix } : {}),
    ...(typeof variables === "object" && variables !== null && !Array.isArray(variables)
      ? { fragmentVariables: variables }
      : {}),
  });
}
