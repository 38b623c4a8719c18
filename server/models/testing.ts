/** What tests of the built-in models give them. */
import type { JsonObject } from "@bufbuild/protobuf";
import { memoryLogger } from "../../shared/log/memory_logger_testing.ts";
import { systemProcesses } from "../../shared/base/process/system_processes.ts";
import { systemClock } from "../../shared/base/time/clock.ts";
import { type Model, ModelRegistry } from "../resources/graph/registry.ts";
import type { Construction, Resource } from "../resources/graph/resource.ts";
import type { BuiltinEnvironment } from "./environment.ts";

/** The real clock and real processes, unless set otherwise. */
export function testEnvironment(overrides: Partial<BuiltinEnvironment> = {}): BuiltinEnvironment {
  return {
    clock: systemClock,
    processes: systemProcesses(),
    untrusted: false,
    home: Deno.cwd(),
    variables: () => Deno.env.toObject(),
    ...overrides,
  };
}

/** Builds a resource as the server does: attributes are checked first. */
export async function construct<R extends Resource, A>(
  model: Model<A>,
  attributes: JsonObject = {},
  overrides: Partial<Construction<JsonObject>> = {},
): Promise<R> {
  const registered = new ModelRegistry().register(model).find(model.api, model.model);
  return await registered.construct({
    name: "x",
    fullName: `${model.api}/x`,
    attributes,
    spec: { name: "x", api: model.api, model: model.model, attributes, dependsOn: [] },
    dependencies: new Map(),
    log: memoryLogger(),
    signal: new AbortController().signal,
    ...overrides,
  }) as R;
}

/** A call that nobody cancels. */
export function testCall(signal: AbortSignal = new AbortController().signal) {
  return { signal };
}
