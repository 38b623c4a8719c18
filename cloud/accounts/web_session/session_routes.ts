import { Code, ConnectError } from "@connectrpc/connect";
import { codeToString } from "@connectrpc/connect/protocol-connect";
import { z } from "zod";
import type { Origin, Sessions, Started } from "../sessions/sessions.ts";
import type { SignIn } from "../sign_in/sign_in.ts";
import { type HeaderOf, isFromOwnPage, type SessionCookie } from "./cookies.ts";
import type { CurrentSession, SessionOf } from "./current_session.ts";
import { readBody, statusOf } from "./request_body.ts";
import { reasonOf } from "../../../shared/rpc/reasons.ts";

export interface SessionRoutesOptions {
  readonly signIn: SignIn;
  readonly sessions: Sessions;
  readonly cookie: SessionCookie;
  readonly current: CurrentSession;
  /** Puts what signs somebody in into the audit log. */
  readonly recorded: <T>(action: string, origin: Origin, work: () => Promise<T>) => Promise<T>;
  /** The headers of the answer that begins a session in the browser. */
  readonly opening: (session: Started) => Record<string, string>;
}

const text = z.string().max(1_000);

const byPassword = z.strictObject({ email: text, password: text, code: text.default("") });
const byLink = z.strictObject({ link: text, replace: z.boolean().default(false) });
const requestSchema = z.union([byPassword, byLink]);

/**
 * `/account/session`, for scripts of the cloud's own pages: GET who is signed in, POST signs in,
 * DELETE signs out. The token is in a cookie that they cannot read.
 */
export function sessionRoutes(
  options: SessionRoutesOptions,
): (request: Request, header: HeaderOf, origin: Origin) => Promise<Response> {
  const { sessions, cookie, current } = options;

  const answer = async (request: Request, header: HeaderOf, origin: Origin): Promise<Response> => {
    switch (request.method) {
      case "GET": {
        if (header("origin") !== undefined) requireOwnPage(header);
        const now = await current.of(header);
        const open = now &&
          (await sessions.list(now.userId)).find(({ id }) => id === now.sessionId);
        if (!now || !open) return json({ signed_in: false });
        const email = await sessions.emailOf(now.userId);
        return json(signedIn({ email, ...now, expiresAtMs: open.expires_at }));
      }
      case "POST": {
        requireOwnPage(header);
        const wanted = parsed(await readBody(request, "application/json"));
        return await options.recorded(
          "link" in wanted ? "link" : "sign-in",
          origin,
          async () => {
            const outcome = "link" in wanted
              ? await options.signIn.byLink(wanted.link, origin, {
                unlessOther: wanted.replace ? undefined : (await current.of(header))?.userId,
              })
              : await options.signIn.byPassword(wanted, origin);
            if (outcome.kind === "second factor required") {
              return json({ signed_in: false, second_factor_required: true });
            }
            const { session, user } = outcome;
            const told = signedIn({
              ...{ email: user.email, userId: user.id, sessionId: session.id },
              expiresAtMs: session.expiresAtMs,
            });
            return json(told, 200, options.opening(session));
          },
        );
      }
      case "DELETE": {
        requireOwnPage(header);
        const now = await current.of(header);
        if (now) await sessions.end(now.userId, { id: now.sessionId });
        return new Response(null, { status: 204, headers: { "set-cookie": cookie.remove() } });
      }
      default:
        return json({ code: "unimplemented", message: "use GET, POST or DELETE" }, 405);
    }
  };

  return async (request, header, origin) => {
    try {
      return await answer(request, header, origin);
    } catch (error) {
      if (!(error instanceof ConnectError)) throw error;
      const { code, rawMessage: message } = error;
      return json({ code: codeToString(code), message, ...reasonOf(error) }, statusOf(error));
    }
  };
}

function requireOwnPage(header: HeaderOf): void {
  if (isFromOwnPage(header)) return;
  throw new ConnectError(
    "this is for pages of this cloud; programs sign in with AccountService/SignIn",
    Code.PermissionDenied,
  );
}

function parsed(body: string): z.infer<typeof requestSchema> {
  let value: unknown;
  try {
    value = JSON.parse(body);
  } catch {
    throw new ConnectError("what was sent is no JSON", Code.InvalidArgument);
  }
  const result = requestSchema.safeParse(value);
  if (result.success) return result.data;
  throw new ConnectError(
    "send {email, password, code} or {link, replace}; code and replace may be left out",
    Code.InvalidArgument,
  );
}

function signedIn(
  { email, userId, sessionId, expiresAtMs }: SessionOf & {
    readonly email: string;
    readonly expiresAtMs: number;
  },
): object {
  return {
    signed_in: true,
    user_id: userId,
    email,
    session_id: sessionId,
    expires_at: new Date(expiresAtMs).toISOString(),
  };
}

function json(value: object, status = 200, headers: Record<string, string> = {}): Response {
  return Response.json(value, { status, headers: { "cache-control": "no-store", ...headers } });
}
