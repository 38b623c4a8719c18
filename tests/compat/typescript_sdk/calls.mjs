// Notes which calls of the published SDK's clients a tour made, and compares what they did.
import assert from "node:assert/strict";

// Not a literal: the SDK is no dependency of the project, only this folder's deno.json knows it.
const SDK = "@viamrobotics/sdk";
export const sdk = await import(SDK);

/** A client that keeps the names of its calls. */
export function recorded(client) {
  const made = new Set();
  const names = Object.getOwnPropertyNames(Object.getPrototypeOf(client))
    .filter((name) => name !== "constructor");
  return {
    client: new Proxy(client, {
      get(target, name) {
        const found = Reflect.get(target, name);
        if (typeof found !== "function") return found;
        made.add(name);
        return found.bind(target);
      },
    }),
    /** Public calls that neither this nor the others of the same kind made. */
    uncalled: (...others) =>
      names.filter((name) => ![made, ...others].some((each) => each.has(name))),
    made,
  };
}

export const equal = (found, wanted) => assert.deepEqual(found, wanted);

/** The call ends with that code and a message that has those words. */
export async function refused(call, code, words) {
  let answer;
  try {
    answer = await call;
  } catch (error) {
    assert.equal(error.code, code, String(error));
    assert.ok(error.rawMessage.includes(words), error.rawMessage);
    return;
  }
  throw new Error(`it was not refused: ${JSON.stringify(answer)}`);
}

/** Codes of gRPC. */
export const CODE = {
  unknown: 2,
  invalid: 3,
  notFound: 5,
  exists: 6,
  precondition: 9,
  unimplemented: 12,
};
