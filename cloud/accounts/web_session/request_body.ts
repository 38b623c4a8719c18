import { Code, ConnectError } from "@connectrpc/connect";

/** Longest form or message that people's browsers send here, bytes. */
const LONGEST = 16 * 1024;

/**
 * Reads what a page sent, as far as it is short.
 *
 * @throws {ConnectError} INVALID_ARGUMENT for more, or for another content type
 */
export async function readBody(request: Request, contentType: string): Promise<string> {
  const type = request.headers.get("content-type") ?? "";
  if (type.split(";")[0]?.trim().toLowerCase() !== contentType) {
    throw new ConnectError(`send it as ${contentType}`, Code.InvalidArgument);
  }
  let [bytes, text] = [0, ""];
  const decoder = new TextDecoder();
  for await (const chunk of request.body ?? []) {
    bytes += chunk.length;
    if (bytes > LONGEST) throw new ConnectError("what was sent is too long", Code.InvalidArgument);
    text += decoder.decode(chunk, { stream: true });
  }
  return text;
}

/** Reads the fields of a form. @throws {ConnectError} INVALID_ARGUMENT */
export async function readForm(request: Request): Promise<(name: string) => string> {
  const fields = new URLSearchParams(
    await readBody(request, "application/x-www-form-urlencoded"),
  );
  return (name) => fields.get(name) ?? "";
}

/** The HTTP status of a failure. */
export function statusOf(error: unknown): number {
  switch (ConnectError.from(error).code) {
    case Code.InvalidArgument:
      return 400;
    case Code.Unauthenticated:
      return 401;
    case Code.PermissionDenied:
      return 403;
    case Code.NotFound:
      return 404;
    case Code.FailedPrecondition:
      return 409;
    case Code.ResourceExhausted:
      return 429;
    case Code.Unavailable:
      return 503;
    default:
      return 500;
  }
}
