import { Code, ConnectError } from "@connectrpc/connect";
import {
  type AttemptLimiter,
  TOO_MANY_ATTEMPTS,
} from "../../../shared/cloud/auth/attempt_limiter.ts";
import type { Queries } from "../../storage/database/cloud_database.ts";
import { userById } from "../people/users.ts";
import type { SecondFactor } from "../second_factor/second_factor.ts";
import type { Origin, Started } from "../sessions/sessions.ts";
import type { SignIn } from "../sign_in/sign_in.ts";
import { type Flow, FLOW_SECONDS, type FlowSeal } from "../single_sign_on/flow_seal.ts";
import type { Identities } from "../single_sign_on/identities.ts";
import type { Issuer } from "../single_sign_on/issuer.ts";
import type { CurrentSession } from "./current_session.ts";
import { cookie, cookieValue, type HeaderOf, isFromOwnPage, returnPath } from "./cookies.ts";
import { pageTexts } from "./page_texts.ts";
import { type Page, pageHtml } from "./pages.ts";
import { type Language, reasons } from "../../../shared/rpc/reason_texts.ts";
import { refusal } from "../../../shared/rpc/reasons.ts";

export interface SingleSignOnRoutesOptions {
  readonly issuer: Issuer;
  readonly identities: Identities;
  readonly seal: FlowSeal;
  readonly signIn: SignIn;
  readonly secondFactor: SecondFactor;
  readonly trustsSecondFactor: boolean;
  readonly limiter: AttemptLimiter;
  readonly current: CurrentSession;
  readonly queries: Queries;
  readonly publicUrl: () => string;
}

/** What comes of the issuer's answer. */
export type SingleSignOnEnd =
  | { readonly kind: "signed in"; readonly session: Started; readonly back: string }
  | { readonly kind: "linked"; readonly back: string }
  | { readonly kind: "code"; readonly page: Page };

const DONE = "/account/single-sign-on/done";

/** Sends browsers to the issuer of single sign-on, and takes them back. */
export class SingleSignOnRoutes {
  constructor(private readonly options: SingleSignOnRoutesOptions) {}

  get name(): string {
    return this.options.issuer.name;
  }

  /**
   * @param url its `return_to` says where to continue; with `link=1` the person who is signed in
   * adds the identity to their account
   */
  async begin(url: URL, header: HeaderOf): Promise<Response> {
    const { issuer, seal, current } = this.options;
    let linking: Flow["linking"];
    if (url.searchParams.has("link")) {
      if (!isFromOwnPage(header)) {
        throw new ConnectError("begin this on a page of this cloud", Code.PermissionDenied);
      }
      linking = await current.of(header);
      if (!linking) throw refusal("SESSION_OVER", {}, "sign in first", Code.Unauthenticated);
    }
    const back = returnPath(url.searchParams.get("return_to"));
    const { url: location, checks } = await issuer.authorization(this.#redirectUri);
    const sealed = seal.flows.seal({ ...checks, back, ...(linking ? { linking } : {}) });
    return new Response(null, {
      status: 303,
      headers: {
        location: location.href,
        "cache-control": "no-store",
        "set-cookie": this.#cookie(sealed, FLOW_SECONDS),
      },
    });
  }

  /** Takes the cookie away that {@link begin} has set. */
  get clearing(): string {
    return this.#cookie("", 0);
  }

  /** @throws {ConnectError} that says why nobody is signed in */
  async end(url: URL, header: HeaderOf, origin: Origin): Promise<SingleSignOnEnd> {
    const { issuer, seal, identities, signIn, limiter } = this.options;
    const opened = seal.flows.open(cookieValue(header, this.#cookieName) ?? "");
    if (!opened || await seal.flows.isUsed(opened)) throw over();
    const flow = opened.value;
    const callback = new URL(`${this.#redirectUri}${url.search}`);
    // Each answer that does not hold, or comes while the issuer is away, costs a call to it.
    let failure: unknown;
    const outcome = await limiter.attempt({ address: origin.address }, async () => {
      try {
        return { identity: await issuer.identity(callback, flow) };
      } catch (error) {
        failure = error;
        return undefined;
      }
    });
    if (outcome.kind === "wrong") throw failure;
    if (outcome.kind === "refused") {
      throw refusal("TOO_MANY_ATTEMPTS", {}, TOO_MANY_ATTEMPTS, Code.ResourceExhausted);
    }
    const { identity } = outcome.value;
    if (flow.linking) {
      const isOpen = await this.options.current.isOpen(flow.linking);
      if (!isOpen || !await seal.flows.use(opened)) throw over();
      await identities.link(flow.linking.userId, identity);
      return { kind: "linked", back: flow.back };
    }
    // First: a stranger writes nothing here, however often the issuer vouches for them.
    const user = await identities.personOf(identity);
    if (!await seal.flows.use(opened)) throw over();
    if (user.totp_enabled === 1 && !this.options.trustsSecondFactor) {
      const token = seal.secondSteps.seal({ userId: user.id, back: flow.back });
      return { kind: "code", page: codePage(token) };
    }
    const session = await signIn.begin(user, "single sign-on", origin);
    return { kind: "signed in", session, back: flow.back };
  }

  /** Takes the code of a second factor, where the person has one here. */
  async secondStep(
    fields: (name: string) => string,
    origin: Origin,
  ): Promise<SingleSignOnEnd> {
    const { secondFactor, signIn, limiter, queries } = this.options;
    const { secondSteps } = this.options.seal;
    const token = fields("token");
    const waiting = secondSteps.open(token);
    if (!waiting || await secondSteps.isUsed(waiting)) throw over();
    const { userId, back } = waiting.value;
    const user = await userById(queries, userId);
    if (!user) throw over();
    if (!await secondFactor.take(user, fields("code"))) {
      limiter.failed(origin.address);
      signIn.failed(user, "wrong code", origin);
      return { kind: "code", page: { ...codePage(token), problem: reasons.CODE_WRONG } };
    }
    if (!await secondSteps.use(waiting)) throw over();
    const session = await signIn.begin(user, "single sign-on", origin);
    return { kind: "signed in", session, back };
  }

  get #redirectUri(): string {
    return `${this.options.publicUrl().replace(/\/$/, "")}${DONE}`;
  }

  get #isHttps(): boolean {
    return this.options.publicUrl().startsWith("https:");
  }

  get #cookieName(): string {
    return this.#isHttps ? "__Host-machine_single_sign_on" : "machine_single_sign_on";
  }

  /** `Lax`: the issuer leads the browser back. */
  #cookie(value: string, maxAgeSeconds: number): string {
    return cookie(this.#cookieName, value, {
      ...{ maxAgeSeconds, isHttps: this.#isHttps, sameSite: "Lax" },
    });
  }
}

/**
 * Leads on by a page of this cloud: browsers send the new `SameSite=Strict` cookie to what a page of
 * the cloud leads to, but not to what the issuer's answer is redirected to.
 */
export function onwardPage(back: string, language: Language): string {
  const page = {
    title: pageTexts.goingOn,
    links: [{ href: back, text: pageTexts.continue }],
    onward: back,
  };
  return pageHtml(page, language);
}

function codePage(token: string): Page {
  return {
    title: pageTexts.signIn,
    texts: [pageTexts.secondFactor],
    form: {
      action: "/account/single-sign-on/code",
      fields: [
        { name: "token", type: "hidden", value: token },
        {
          ...{ name: "code", type: "text", autocomplete: "one-time-code" },
          label: pageTexts.codeNeeded,
        },
      ],
      button: pageTexts.signIn,
    },
  };
}

function over(): ConnectError {
  return refusal(
    "SIGN_IN_OVER",
    {},
    "this sign-in was finished, was begun in another browser, or took too long; begin again",
    Code.Unauthenticated,
  );
}
