import assert from "node:assert/strict";
import { join } from "node:path";
import { type Code, ConnectError } from "@connectrpc/connect";

/** A caller's stream of requests, as tests write it. */
export class RequestStream<T> implements AsyncIterable<T> {
  readonly #waiting: PromiseWithResolvers<IteratorResult<T>>[] = [];
  readonly #results: Promise<IteratorResult<T>>[] = [];

  send(...requests: T[]): this {
    for (const value of requests) this.#next().resolve({ done: false, value });
    return this;
  }

  /** Half-closes. */
  end(): this {
    this.#next().resolve({ done: true, value: undefined });
    return this;
  }

  /** The connection breaks. */
  break(): this {
    const next = this.#next();
    next.promise.catch(() => {});
    next.reject(new Error("the connection broke"));
    return this;
  }

  [Symbol.asyncIterator](): AsyncIterator<T> {
    return {
      next: () => {
        const ready = this.#results.shift();
        if (ready) return ready;
        const waiting = Promise.withResolvers<IteratorResult<T>>();
        this.#waiting.push(waiting);
        return waiting.promise;
      },
    };
  }

  #next(): PromiseWithResolvers<IteratorResult<T>> {
    const waiting = this.#waiting.shift();
    if (waiting) return waiting;
    const ready = Promise.withResolvers<IteratorResult<T>>();
    this.#results.push(ready.promise);
    return ready;
  }
}

/** A test with a home folder of its own. */
export function testWithHome(
  name: string,
  run: (home: string) => Promise<void>,
  ignore = false,
): void {
  Deno.test({
    name,
    ignore,
    async fn() {
      const home = await Deno.realPath(await Deno.makeTempDir());
      try {
        await run(home);
      } finally {
        await Deno.remove(home, { recursive: true });
      }
    },
  });
}

/** Every file and folder under a folder, with its text. */
export async function tree(folder: string, prefix = ""): Promise<Record<string, string>> {
  const found: Record<string, string> = {};
  for await (const { name, isDirectory } of Deno.readDir(folder)) {
    const path = join(folder, name);
    if (!isDirectory) found[prefix + name] = await Deno.readTextFile(path);
    else Object.assign(found, { [`${prefix}${name}/`]: "" }, await tree(path, `${prefix}${name}/`));
  }
  return found;
}

/** For `assert.rejects`. */
export function hasCode(code: Code, words: RegExp) {
  return (error: unknown) => {
    assert(error instanceof ConnectError, String(error));
    assert.equal(error.code, code);
    assert.match(error.rawMessage, words);
    return true;
  };
}
