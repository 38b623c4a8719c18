import { Code, ConnectError } from "@connectrpc/connect";
import type { Peer } from "../../../shared/rpc/server/peer.ts";
import type { Identity } from "../../../shared/cloud/auth/identity.ts";
import type { AuditLog } from "../audit/audit_log.ts";
import { type CallRecord, runRecorded } from "../../storage/audit/call_record.ts";
import type { Clock } from "../../../shared/base/time/clock.ts";
import { SECRET_CLAIM } from "../access/claims.ts";
import type { HttpCallers } from "../access/http_callers.ts";
import type { Origin, Sessions, Started } from "../sessions/sessions.ts";
import type { Joining } from "../sign_in/joining.ts";
import type { SignIn } from "../sign_in/sign_in.ts";
import { auditLines } from "./audit_lines.ts";
import { isFromOwnPage, noSessionCookie, sessionCookie, sessionToken } from "./cookies.ts";
import { type Page, pageHtml } from "./pages.ts";

export interface AccountRoutesOptions {
  readonly signIn: SignIn;
  readonly joining: Joining;
  readonly sessions: Sessions;
  readonly audit: AuditLog;
  readonly http: HttpCallers;
  readonly verifyToken: (token: string) => Promise<Identity>;
  /** Single sign-on, where there is one. */
  readonly singleSignOn: SingleSignOnRoutes | undefined;
  readonly clock: Clock;
  readonly publicUrl: () => string;
}

/** What begins and ends single sign-on in a browser. */
export interface SingleSignOnRoutes {
  readonly name: string;
  begin(isHttps: boolean): Promise<Response>;
  end(
    request: Request,
    origin: Origin,
    isHttps: boolean,
  ): Promise<{ readonly session: Started; readonly clear: string }>;
}

const LONGEST_FORM = 16 * 1024;

/** What people's browsers ask for: signing in and out, links out of mails, the audit log. */
export type AccountRoutes = (request: Request, peer: Peer) => Promise<Response>;

export function accountRoutes(options: AccountRoutesOptions): AccountRoutes {
  const { signIn, joining, clock, singleSignOn } = options;
  const isHttps = () => options.publicUrl().startsWith("https:");

  const opened = (session: Started, location = "/"): Response => {
    const seconds = Math.floor((session.expiresAtMs - clock.now().getTime()) / 1000);
    return new Response(null, {
      status: 303,
      headers: {
        location,
        "cache-control": "no-store",
        "set-cookie": sessionCookie(session.accessToken, seconds, isHttps()),
      },
    });
  };

  const forms: Readonly<Record<string, Form>> = {
    "sign-in": {
      page: () => Promise.resolve(signInPage(singleSignOn)),
      async send(fields, origin) {
        const [email, password, code] = ["email", "password", "code"].map((name) => fields(name));
        const outcome = await signIn.byPassword(
          { email: email ?? "", password: password ?? "", code: code ?? "" },
          origin,
        );
        if (outcome.kind === "signed in") return opened(outcome.session);
        return { ...codePage(email ?? ""), problem: "Enter the password and the code once more." };
      },
    },
    "password": {
      page: (token) => Promise.resolve(passwordPage(token)),
      async send(fields, origin) {
        const email = await signIn.setPassword(fields("token"), fields("password"), origin);
        return {
          title: "The password is set",
          texts: [`You can sign in as ${email} now.`],
          links: [{ href: "/account/sign-in", text: "Sign in" }],
        };
      },
    },
    "link": {
      // A mail program that looks at links must not use this one up: a person has to press.
      page: (token) => Promise.resolve(linkPage(token)),
      send: async (fields, origin) =>
        opened((await signIn.byLink(fields("token"), origin)).session),
    },
    "invitation": {
      async page(token, origin) {
        const { invitation, isKnown, organization } = await joining.look(token, origin);
        return invitationPage(token, invitation.email, organization, isKnown);
      },
      async send(fields, origin) {
        const [token, password, code] = ["token", "password", "code"].map((name) => fields(name));
        const accepted = await joining.accept(
          { token: token ?? "", password: password ?? "", code: code ?? "" },
          origin,
        );
        return opened(accepted.session);
      },
    },
  };

  return async (request, peer) => {
    const url = new URL(request.url);
    const header = (name: string) => request.headers.get(name) ?? undefined;
    const origin = { address: peer.address, client: header("user-agent") ?? "" };
    const name = url.pathname.replace(/^\/account\//, "");
    try {
      if (name === "audit.jsonl" && request.method === "GET") {
        return await auditLines(options, url, { header, peer });
      }
      if (name === "single-sign-on" && singleSignOn) return await singleSignOn.begin(isHttps());
      if (name === "single-sign-on/done" && singleSignOn) {
        const { session, clear } = await recorded(
          options,
          "single sign-on",
          origin,
          () => singleSignOn.end(request, origin, isHttps()),
        );
        const answer = opened(session);
        answer.headers.append("set-cookie", clear);
        return answer;
      }
      const isPost = request.method === "POST";
      if (isPost && !isFromOwnPage(header)) {
        return html({ title: "Refused", texts: ["A page of somebody else sent this form."] }, 403);
      }
      if (name === "sign-out" && isPost) return await signOut(options, header, isHttps());
      const form = forms[name];
      if (!form) return html({ title: "Not found", texts: ["There is no such page."] }, 404);
      if (!isPost) return html(await form.page(url.searchParams.get("token") ?? "", origin));
      const fields = await readForm(request);
      try {
        const answer = await recorded(options, name, origin, () => form.send(fields, origin));
        return answer instanceof Response ? answer : html(answer);
      } catch (error) {
        const page = await form.page(fields("token"), origin);
        return html({ ...page, problem: ConnectError.from(error).rawMessage }, statusOf(error));
      }
    } catch (error) {
      if (!(error instanceof ConnectError)) throw error;
      return html({ title: "That did not work", texts: [error.rawMessage] }, statusOf(error));
    }
  };
}

interface Form {
  page(token: string, origin: Origin): Promise<Page>;
  send(fields: (name: string) => string, origin: Origin): Promise<Response | Page>;
}

/** In the audit log, as the calls of the same kind are. */
function recorded<T>(
  { clock }: { readonly clock: Clock },
  action: string,
  origin: Origin,
  work: () => Promise<T>,
): Promise<T> {
  const record: CallRecord = {
    ...{ orgId: "", actorType: "", actor: "", action: `page ${action}`, target: "{}" },
    ...{ at: clock.now(), ...origin, isWritten: false },
  };
  return runRecorded(record, work);
}

async function signOut(
  { sessions, verifyToken }: AccountRoutesOptions,
  header: (name: string) => string | undefined,
  isHttps: boolean,
): Promise<Response> {
  const token = sessionToken(header, isHttps);
  const identity = token === undefined
    ? undefined
    : await verifyToken(token).catch(() => undefined);
  if (identity?.credentialType === "session") {
    await sessions.end(identity.entity, { id: identity.claims[SECRET_CLAIM] ?? "" });
  }
  return new Response(null, {
    status: 303,
    headers: { location: "/account/sign-in", "set-cookie": noSessionCookie(isHttps) },
  });
}

async function readForm(request: Request): Promise<(name: string) => string> {
  const type = request.headers.get("content-type") ?? "";
  if (!type.startsWith("application/x-www-form-urlencoded")) {
    throw new ConnectError(
      "send the form as application/x-www-form-urlencoded",
      Code.InvalidArgument,
    );
  }
  let [bytes, text] = [0, ""];
  const decoder = new TextDecoder();
  for await (const chunk of request.body ?? []) {
    bytes += chunk.length;
    if (bytes > LONGEST_FORM) {
      throw new ConnectError("the form is too long", Code.InvalidArgument);
    }
    text += decoder.decode(chunk, { stream: true });
  }
  const fields = new URLSearchParams(text);
  return (name) => fields.get(name) ?? "";
}

function html(page: Page, status = 200): Response {
  return new Response(pageHtml(page), {
    status,
    headers: {
      "content-type": "text/html; charset=utf-8",
      "cache-control": "no-store",
      "referrer-policy": "no-referrer",
    },
  });
}

function statusOf(error: unknown): number {
  switch (ConnectError.from(error).code) {
    case Code.InvalidArgument:
      return 400;
    case Code.Unauthenticated:
      return 401;
    case Code.PermissionDenied:
      return 403;
    case Code.NotFound:
      return 404;
    case Code.ResourceExhausted:
      return 429;
    case Code.Unavailable:
      return 503;
    default:
      return 500;
  }
}

const PASSWORD_FIELD = { name: "password", type: "password" } as const;
const CODE_FIELD = {
  name: "code",
  type: "text",
  autocomplete: "one-time-code",
  label: "Code of the authenticator, or a recovery code, if you have set one up",
} as const;

function signInPage(singleSignOn: { readonly name: string } | undefined): Page {
  return {
    title: "Sign in",
    form: {
      fields: [
        { name: "email", label: "E-mail address", type: "email", autocomplete: "username" },
        { ...PASSWORD_FIELD, label: "Password", autocomplete: "current-password" },
        CODE_FIELD,
      ],
      button: "Sign in",
    },
    links: singleSignOn
      ? [{ href: "/account/single-sign-on", text: `Sign in with ${singleSignOn.name}` }]
      : [],
  };
}

function codePage(email: string): Page {
  const page = signInPage(undefined);
  const fields = page.form?.fields.map((field) =>
    field.name === "email" ? { ...field, value: email } : field
  );
  return { ...page, form: { fields: fields ?? [], button: "Sign in" } };
}

function passwordPage(token: string): Page {
  return {
    title: "Set a password",
    texts: ["All open sessions end when it is set."],
    form: {
      fields: [
        { name: "token", label: "", type: "hidden", value: token },
        { ...PASSWORD_FIELD, label: "New password", autocomplete: "new-password" },
      ],
      button: "Set the password",
    },
  };
}

function linkPage(token: string): Page {
  return {
    title: "Sign in",
    texts: ["This link signs you in once."],
    form: {
      fields: [{ name: "token", label: "", type: "hidden", value: token }],
      button: "Sign in",
    },
  };
}

function invitationPage(
  token: string,
  email: string,
  organization: string,
  isKnown: boolean,
): Page {
  const autocomplete = isKnown ? "current-password" : "new-password";
  return {
    title: `Join ${organization}`,
    texts: [isKnown ? `Sign in as ${email} to join.` : `Set a password for ${email} to join.`],
    form: {
      fields: [
        { name: "token", label: "", type: "hidden", value: token },
        { ...PASSWORD_FIELD, label: isKnown ? "Password" : "New password", autocomplete },
        ...(isKnown ? [CODE_FIELD] : []),
      ],
      button: "Join",
    },
  };
}
