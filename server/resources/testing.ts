/** Short ways to write graphs in tests. */
import type { JsonObject } from "@bufbuild/protobuf";
import type { Logger } from "../../shared/log/logger.ts";
import type { ResourceSpec } from "./target.ts";

/** A component of API `t:component:x` and model `t:test:m`. */
export function spec(
  name: string,
  dependsOn: readonly string[] = [],
  attributes: JsonObject = {},
): ResourceSpec {
  return { name, api: "t:component:x", model: "t:test:m", attributes, dependsOn };
}

/** Full name of {@link spec}'s resource. */
export function key(name: string): string {
  return `t:component:x/${name}`;
}

/** A logger that keeps its lines as "level message". */
export function recordingLogger(): { log: Logger; lines: string[] } {
  const lines: string[] = [];
  const log: Logger = {
    name: "test",
    debug: (message) => void lines.push(`debug ${message}`),
    info: (message) => void lines.push(`info ${message}`),
    warn: (message) => void lines.push(`warn ${message}`),
    error: (message) => void lines.push(`error ${message}`),
    child: () => log,
    isEnabled: () => true,
  };
  return { log, lines };
}
