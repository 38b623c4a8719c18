/** Codes of gRPC that are used here, with Connect's names of them. */
export const Code = {
  cancelled: 1,
  unknown: 2,
  invalid_argument: 3,
  deadline_exceeded: 4,
  not_found: 5,
  permission_denied: 7,
  resource_exhausted: 8,
  failed_precondition: 9,
  out_of_range: 11,
  unimplemented: 12,
  internal: 13,
  unavailable: 14,
  unauthenticated: 16,
} as const;

export type CodeName = keyof typeof Code;

/** A call failed. */
export class RpcError extends Error {
  constructor(readonly code: CodeName, message: string) {
    super(message);
  }
}

/** Any failure as one of a call. */
export function toRpcError(error: unknown): RpcError {
  if (error instanceof RpcError) return error;
  return new RpcError("unknown", textOf(error));
}

/** What a failure says. */
export function textOf(error: unknown): string {
  // The engine throws nothing at all where it has no memory for an error.
  if (error === null) return "out of memory";
  if (error instanceof Error) return error.message || error.name;
  return String(error);
}
