import type { RegistryItem } from "../../../../shared/gen/viam/app/v1/app_pb.ts";
import type { Fragment } from "../../../../shared/gen/viam/app/v1/app_pb.ts";
import { entriesOf } from "../../../configuration/diff.ts";
import { isObject, type JsonObject, type JsonValue } from "../../../configuration/json.ts";
import type { KnownModel } from "../../../configuration/schema.ts";

/** Something that can be added to a configuration. */
export type Addable =
  | {
    readonly kind: "model";
    readonly api: string;
    readonly model: string;
    /** `namespace:name` of the module that brings it; undefined: built in. */
    readonly module: string | undefined;
    readonly text: string;
  }
  | { readonly kind: "fragment"; readonly id: string; readonly text: string };

/** All that can be added, by its name. */
export function addables(
  builtIn: readonly KnownModel[],
  items: readonly RegistryItem[],
  fragments: readonly Fragment[],
): Addable[] {
  const model = (api: string, model: string, module: string | undefined): Addable => ({
    ...{ kind: "model", api, model, module },
    text: `${subtypeOf(api)} ${model}`,
  });
  return [
    ...builtIn.map((known) => model(known.api, known.model, undefined)),
    ...items.flatMap(({ itemId, metadata }) =>
      metadata.case === "moduleMetadata"
        ? metadata.value.models.map((known) => model(known.api, known.model, itemId))
        : []
    ),
    ...fragments.map(({ id, name }): Addable => ({ kind: "fragment", id, text: name })),
  ];
}

/** `sensor` of `rdk:component:sensor`. */
export function subtypeOf(api: string): string {
  return api.split(":").at(-1) ?? api;
}

/** The list in which resources of an API stand. */
function sectionOf(api: string): "components" | "services" {
  return api.split(":")[1] === "service" ? "services" : "components";
}

/** A name that no resource has yet: `sensor-1`, `sensor-2` … */
export function freeName(config: JsonObject, api: string): string {
  const names = new Set(
    ["components", "services"].flatMap((section) => {
      const list = config[section];
      return Array.isArray(list)
        ? list.flatMap((entry) =>
          isObject(entry) && typeof entry.name === "string" ? [entry.name] : []
        )
        : [];
    }),
  );
  const base = subtypeOf(api).replaceAll(/[^a-zA-Z0-9]+/g, "-");
  for (let number = 1;; number++) if (!names.has(`${base}-${number}`)) return `${base}-${number}`;
}

/** The configuration with one thing more; the module that brings a model comes with it. */
export function withAdded(config: JsonObject, addable: Addable, name: string): JsonObject {
  if (addable.kind === "fragment") {
    return appended(config, "fragments", { id: addable.id });
  }
  const { api, model, module } = addable;
  const entry = { name, api, model, attributes: {} };
  const more = appended(config, sectionOf(api), entry);
  if (module === undefined) return more;
  const modules = entriesOf(config, "modules");
  const isThere = [...modules?.values() ?? []]
    .some((each) => isObject(each) && each.module_id === module);
  return isThere ? more : appended(more, "modules", {
    name: module.replaceAll(/[^a-zA-Z0-9]+/g, "-"),
    type: "registry",
    module_id: module,
    version: "latest",
  });
}

function appended(config: JsonObject, section: string, entry: JsonValue): JsonObject {
  const list = config[section];
  return { ...config, [section]: [...Array.isArray(list) ? list : [], entry] };
}
