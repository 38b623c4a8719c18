import { Code } from "@connectrpc/connect";
import type { HandlerContext } from "@connectrpc/connect";
import { peerKey } from "../../../shared/rpc/server/peer.ts";
import type { Person } from "../access/caller.ts";
import type { Scope } from "../access/scope.ts";
import { refusal } from "../../../shared/rpc/reasons.ts";

/** The person who calls. @throws {ConnectError} PERMISSION_DENIED for keys and machines */
export function personOf(scope: Scope): Person {
  const { person, actor } = scope.caller;
  if (person) return person;
  throw refusal(
    "PERSON_NEEDED",
    {},
    `this is for people who signed in; these are ${actor.type} credentials`,
    Code.PermissionDenied,
  );
}

/** Where a call comes from. */
export function originOf(context: HandlerContext): { address: string; client: string } {
  const { requestHeader: header } = context;
  const client = header.get("viam_client") ?? programOf(header.get("user-agent") ?? "");
  return { address: context.values.get(peerKey).address, client };
}

/** Without the gRPC library, which adds itself behind the program's name. */
function programOf(userAgent: string): string {
  return userAgent.replace(/ grpc-[a-z-]+\/\S+$/, "");
}
