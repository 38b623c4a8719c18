import type { JsonObject } from "@bufbuild/protobuf";
import { anyAttributes } from "../../resources/graph/attributes.ts";
import type { Model } from "../../resources/graph/registry.ts";
import { echo } from "./echo.ts";
import { TRIED_WITH } from "./tried_with.ts";

/** Model `rdk:builtin:fake` of the generic component or of the generic service: an echo. */
export function fakeGenericModel(api: string): Model<JsonObject> {
  return {
    api,
    model: "rdk:builtin:fake",
    triedWith: TRIED_WITH,
    attributes: anyAttributes,
    construct: () => ({ doCommand: echo }),
  };
}
