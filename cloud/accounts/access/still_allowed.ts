import type { HandlerContext } from "@connectrpc/connect";
import type { Callers } from "./callers.ts";
import type { Scope } from "./scope.ts";

/**
 * For calls that take long: throws when its caller may not do any more what it began. Callers are
 * remembered until somebody's access changed, so that asking for each piece costs no query.
 *
 * @param begun what the caller might do when the call began
 * @param look throws when a scope does not allow it
 */
export function stillAllowed(
  callers: Pick<Callers, "scope">,
  context: HandlerContext,
  begun: Scope,
  look: (scope: Scope) => Promise<unknown>,
): () => Promise<void> {
  let { caller } = begun;
  return async () => {
    const now = await callers.scope(context);
    if (now.caller === caller) return;
    await look(now);
    caller = now.caller;
  };
}
