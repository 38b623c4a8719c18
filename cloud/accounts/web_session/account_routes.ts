import { ConnectError } from "@connectrpc/connect";
import type { Peer } from "../../../shared/rpc/server/peer.ts";
import type { AuditLog } from "../audit/audit_log.ts";
import { type CallRecord, runRecorded } from "../../storage/audit/call_record.ts";
import { toCallFailure } from "../../storage/database/call_failures.ts";
import type { Clock } from "../../../shared/base/time/clock.ts";
import type { Logos } from "../branding/logos.ts";
import type { HttpCallers } from "../access/http_callers.ts";
import type { Origin, Sessions, Started } from "../sessions/sessions.ts";
import type { Joining } from "../sign_in/joining.ts";
import type { SignIn } from "../sign_in/sign_in.ts";
import { auditLines } from "./audit_lines.ts";
import { type HeaderOf, isFromOwnPage, returnPath, type SessionCookie } from "./cookies.ts";
import type { CurrentSession } from "./current_session.ts";
import { invitationPage, passwordPage, signInCodePage, signInPage } from "./form_pages.ts";
import { LINK_SCRIPT, LINK_SCRIPT_PATH, linkPage } from "./link_page.ts";
import { PAGE_STYLE, PAGE_STYLE_PATH } from "./page_style.ts";
import { failureText, pageLanguage, pageTexts } from "./page_texts.ts";
import { type Language, withValues } from "../../../shared/rpc/reason_texts.ts";
import { type Page, pageHtml } from "./pages.ts";
import { codePage, type ProgramAnswer, type ProgramPages } from "./program_pages.ts";
import { readForm, statusOf } from "./request_body.ts";
import { sessionRoutes } from "./session_routes.ts";
import {
  onwardPage,
  type SingleSignOnEnd,
  type SingleSignOnRoutes,
} from "./single_sign_on_routes.ts";

export interface AccountRoutesOptions {
  readonly signIn: SignIn;
  readonly joining: Joining;
  readonly sessions: Sessions;
  readonly audit: AuditLog;
  readonly http: HttpCallers;
  /** Single sign-on, where there is one. */
  readonly singleSignOn: SingleSignOnRoutes | undefined;
  readonly cookie: SessionCookie;
  readonly current: CurrentSession;
  readonly logos: Pick<Logos, "pathOf" | "pathOfHost">;
  /** Pages that let a program in. */
  readonly programs: ProgramPages;
  readonly clock: Clock;
}

/** What the pages load. */
const FILES: Readonly<Record<string, { readonly type: string; readonly text: string }>> = {
  [LINK_SCRIPT_PATH]: { type: "text/javascript", text: LINK_SCRIPT },
  [PAGE_STYLE_PATH]: { type: "text/css", text: PAGE_STYLE },
};

/** What people's browsers request: signing in and out, links out of mails, the audit log. */
export type AccountRoutes = (
  request: Request,
  peer: Peer,
  signal?: AbortSignal,
) => Promise<Response>;

export function accountRoutes(options: AccountRoutesOptions): AccountRoutes {
  const { signIn, joining, clock, singleSignOn, cookie, programs } = options;

  const opening = (session: Started) => {
    const seconds = Math.floor((session.expiresAtMs - clock.now().getTime()) / 1000);
    return {
      "cache-control": "no-store",
      "set-cookie": cookie.set(session.accessToken, seconds),
    };
  };
  const opened = (session: Started, location = "/"): Response =>
    new Response(null, { status: 303, headers: { location, ...opening(session) } });
  const session = sessionRoutes({
    ...{ signIn, sessions: options.sessions, cookie, current: options.current, opening },
    recorded: (action, origin, work) => recorded(options, action, origin, work),
  });

  const signedOn = (end: SingleSignOnEnd, language: Language): Response => {
    if (end.kind === "code") return html(end.page, language);
    const answer = htmlText(onwardPage(end.back, language));
    if (end.kind === "linked") return answer;
    for (const [key, value] of Object.entries(opening(end.session))) answer.headers.set(key, value);
    return answer;
  };

  /** The form to sign in another way, under what went wrong. */
  const signInFailed = (error: unknown, language: Language): Response => {
    if (!(error instanceof ConnectError)) throw error;
    const form = signInPage(singleSignOn, "/", "/account/sign-in");
    return html({ ...form, problem: failureText(error) }, language, statusOf(error));
  };

  const forms: Readonly<Record<string, Form>> = {
    "sign-in": {
      async page(_token, _origin, back) {
        return { ...signInPage(singleSignOn, back), logo: await options.logos.pathOfHost() };
      },
      async send(fields, origin) {
        const [email, password, code] = ["email", "password", "code"].map((name) => fields(name));
        const outcome = await signIn.byPassword(
          { email: email ?? "", password: password ?? "", code: code ?? "" },
          origin,
        );
        const back = returnPath(fields("return_to"));
        if (outcome.kind === "signed in") return opened(outcome.session, back);
        return {
          ...signInCodePage(email ?? "", back),
          problem: pageTexts.onceMore,
        };
      },
    },
    ...(singleSignOn && {
      "single-sign-on/code": {
        page: () => Promise.resolve(signInPage(singleSignOn, "/", "/account/sign-in")),
        send: async (fields, origin, language) =>
          signedOn(await singleSignOn.secondStep(fields, origin), language),
      } satisfies Form,
    }),
    "password": {
      async page(token, origin) {
        await signIn.lookAtReset(token, origin);
        return passwordPage(token);
      },
      async send(fields, origin) {
        const email = await signIn.setPassword(fields("token"), fields("password"), origin);
        return {
          title: pageTexts.isSet,
          texts: [withValues(pageTexts.signInNow, { email })],
          links: [{ href: "/account/sign-in", text: pageTexts.signIn }],
        };
      },
    },
    "invitation": {
      async page(token, origin) {
        const { invitation, isKnown, organization } = await joining.look(token, origin);
        const page = invitationPage(token, invitation.email, organization, isKnown);
        return { ...page, logo: await options.logos.pathOf(invitation.orgId) };
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

  const letIn = async (
    name: "authorize" | "device",
    { request, url, header, origin, language }: {
      readonly language: Language;
      readonly request: Request;
      readonly url: URL;
      readonly header: HeaderOf;
      readonly origin: Origin;
    },
  ): Promise<Response> => {
    const isPost = request.method === "POST";
    const fields = isPost ? await readForm(request) : undefined;
    const value = fields ?? ((key: string) => url.searchParams.get(key));
    let answer: ProgramAnswer;
    try {
      answer = name === "authorize"
        ? await programs.authorize(value, header, isPost)
        : await programs.device(value, header, origin, isPost);
    } catch (error) {
      if (name === "authorize" || !(error instanceof ConnectError)) throw error;
      return html(codePage(failureText(error)), language, statusOf(error));
    }
    switch (answer.kind) {
      case "page":
        return html(answer.page, language);
      case "onward":
        return htmlText(onwardPage(answer.url, language));
      case "sign in first": {
        const back = encodeURIComponent(`${url.pathname}${url.search}`);
        const headers = { location: `/account/sign-in?return_to=${back}` };
        return new Response(null, { status: 303, headers });
      }
    }
  };

  return async (request, peer, signal) => {
    const url = new URL(request.url);
    const header = (name: string) => request.headers.get(name) ?? undefined;
    const language = pageLanguage(header("accept-language"));
    const origin = {
      ...{ address: peer.address, client: header("user-agent") ?? "" },
      ...(signal && { signal }),
    };
    const name = url.pathname.replace(/^\/account\//, "");
    try {
      if (name === "audit.jsonl" && request.method === "GET") {
        return await auditLines(options, url, { header, peer });
      }
      if (name === "session") return await session(request, header, origin);
      const file = request.method === "GET" ? FILES[url.pathname] : undefined;
      if (file) {
        return new Response(file.text, {
          headers: { "content-type": `${file.type}; charset=utf-8`, "cache-control": "no-cache" },
        });
      }
      if (name === "link" && request.method === "GET") return htmlText(linkPage(language));
      if (name === "single-sign-on" && singleSignOn) {
        return await singleSignOn.begin(url, header)
          .catch((error) => signInFailed(error, language));
      }
      if (name === "single-sign-on/done" && singleSignOn) {
        const answer = await recorded(options, "single sign-on", origin, async () => {
          try {
            return signedOn(await singleSignOn.end(url, header, origin), language);
          } catch (error) {
            return signInFailed(error, language);
          }
        });
        answer.headers.append("set-cookie", singleSignOn.clearing);
        return answer;
      }
      const isPost = request.method === "POST";
      if (isPost && !isFromOwnPage(header)) {
        const page = { title: pageTexts.refused, texts: [pageTexts.ofSomebodyElse] };
        return html(page, language, 403);
      }
      if (name === "sign-out" && isPost) return await signOut(options, header);
      if (name === "authorize" || name === "device") {
        return await letIn(name, { request, url, header, origin, language });
      }
      const form = forms[name];
      if (!form) {
        const page = { title: pageTexts.notFound, texts: [pageTexts.noSuchPage] };
        return html(page, language, 404);
      }
      const back = returnPath(url.searchParams.get("return_to"));
      if (!isPost) {
        const page = await form.page(url.searchParams.get("token") ?? "", origin, back);
        return html(page, language);
      }
      const fields = await readForm(request);
      try {
        const answer = await recorded(
          options,
          name,
          origin,
          () => form.send(fields, origin, language),
        );
        return answer instanceof Response ? answer : html(answer, language);
      } catch (thrown) {
        const error = toCallFailure(thrown);
        if (!(error instanceof ConnectError)) throw thrown;
        const page = await form.page(fields("token"), origin, returnPath(fields("return_to")));
        return html({ ...page, problem: failureText(error) }, language, statusOf(error));
      }
    } catch (thrown) {
      const error = toCallFailure(thrown);
      if (!(error instanceof ConnectError)) throw thrown;
      return html(
        {
          title: pageTexts.didNotWork,
          texts: [failureText(error)],
          links: name === "password" ? [{ href: "/", text: pageTexts.signInOrLink }] : [],
        },
        language,
        statusOf(error),
      );
    }
  };
}

interface Form {
  page(token: string, origin: Origin, back: string): Promise<Page>;
  send(
    fields: (name: string) => string,
    origin: Origin,
    language: Language,
  ): Promise<Response | Page>;
}

/** In the audit log, as the calls of the same kind are. */
function recorded<T>(
  { clock }: { readonly clock: Clock },
  action: string,
  { address, client }: Origin,
  work: () => Promise<T>,
): Promise<T> {
  const record: CallRecord = {
    ...{ orgId: "", actorType: "", actor: "", action: `page ${action}`, target: "{}" },
    ...{ at: clock.now(), address, client, isWritten: false },
  };
  return runRecorded(record, work);
}

async function signOut(
  { sessions, current, cookie }: AccountRoutesOptions,
  header: HeaderOf,
): Promise<Response> {
  const now = await current.of(header);
  if (now) await sessions.end(now.userId, { id: now.sessionId });
  return new Response(null, {
    status: 303,
    headers: { location: "/account/sign-in", "set-cookie": cookie.remove() },
  });
}

function html(page: Page, language: Language, status = 200): Response {
  return htmlText(pageHtml(page, language), status);
}

function htmlText(text: string, status = 200): Response {
  return new Response(text, {
    status,
    headers: {
      "content-type": "text/html; charset=utf-8",
      "cache-control": "no-store",
      "referrer-policy": "no-referrer",
    },
  });
}
