import type { JsonValue } from "./json.ts";
import type { JsonSchema } from "./schema.ts";

export interface SchemaCheck {
  readonly schema: JsonSchema;
  readonly value: JsonValue;
}

/** What a validator found: where (a JSON pointer), the keyword of the schema, and in words. */
export interface SchemaFinding {
  readonly instanceLocation: string;
  readonly keyword: string;
  readonly error: string;
}

/** A check takes milliseconds; a pattern of a stranger may never end. */
const LONGEST_MS = 2000;

let worker: Worker | undefined;
let turn: Promise<unknown> = Promise.resolve();
const endless = new WeakSet<JsonSchema>();

/**
 * What is wrong with a value by a schema that anybody may have written: checked in a worker, which
 * is terminated when it takes longer than two seconds.
 *
 * @returns undefined when it took too long; the schema isn't tried again.
 */
export function checkWithSchema(check: SchemaCheck): Promise<readonly SchemaFinding[] | undefined> {
  const answer = turn.then(() => endless.has(check.schema) ? undefined : answered(check));
  turn = answer;
  return answer;
}

function answered(check: SchemaCheck): Promise<readonly SchemaFinding[] | undefined> {
  worker ??= new Worker(new URL("./schema_worker.ts", import.meta.url), { type: "module" });
  const current = worker;
  const { promise, resolve } = Promise.withResolvers<readonly SchemaFinding[] | undefined>();
  const timer = setTimeout(() => {
    current.terminate();
    worker = undefined;
    endless.add(check.schema);
    resolve(undefined);
  }, LONGEST_MS);
  current.onmessage = ({ data }: MessageEvent<SchemaFinding[]>) => resolve(data);
  current.onerror = () => resolve([]);
  // As text: a value that the page observes cannot be copied.
  current.postMessage(JSON.stringify(check));
  return promise.finally(() => clearTimeout(timer));
}
