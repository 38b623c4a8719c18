import type { Clock } from "../../../shared/base/time/clock.ts";
import type { DelayedCommit } from "../delayed_commit.ts";
import { ProvisioningInputError, type ProvisioningPort } from "../provisioning_port.ts";
import { enteredIn, Fields, FormError, readBody, readChoice } from "./form.ts";
import { networkName } from "./html.ts";
import { destinationOf, type NamingOptions } from "./host_names.ts";
import { messagesFor } from "./languages.ts";
import { type PageState, type PageView, renderPage } from "./page.ts";
import { CONTENT_SECURITY_POLICY } from "./page_assets.ts";
import { PageTokens } from "./page_token.ts";

export interface PortalOptions {
  readonly port: ProvisioningPort;
  readonly commit: Pick<DelayedCommit, "isPending" | "schedule">;
  readonly naming: NamingOptions;
  /** The name of the hotspot. */
  readonly hotspot: string;
  readonly clock: Clock;
}

const STATUS_OF: Partial<Record<FormError["kind"], number>> = {
  "too-large": 413,
  "old-page": 403,
  busy: 409,
};
const STAGE_PROBLEM = {
  ssid: "name-length",
  psk: "password-length",
  credentials: "credentials-wrong",
} as const;

/**
 * Answers the requests that come over the hotspot. Looking at the page changes nothing and is no
 * activity of a person, as phones do it unprompted; sending a form is.
 */
export class Portal {
  readonly #tokens: PageTokens;

  constructor(private readonly options: PortalOptions) {
    this.#tokens = new PageTokens(options.clock);
  }

  /** @param address of the caller. */
  async answer(request: Request, address: string): Promise<Response> {
    const { pathname } = new URL(request.url);
    const { naming } = this.options;
    switch (destinationOf(request.headers.get("host"), pathname, naming)) {
      case "redirect":
        return redirect(this.#home);
      case "unknown":
        return text("this name is not served here\n", 404);
    }
    const isGet = request.method === "GET" || request.method === "HEAD";
    if (isGet) return this.#get(request, pathname, address);
    if (request.method !== "POST") return text("only GET and POST\n", 405);
    return await this.#post(request, pathname, address);
  }

  get #home(): string {
    const { address, port = 80 } = this.options.naming;
    return `http://${address}${port === 80 ? "" : `:${port}`}/`;
  }

  get #state(): PageState {
    const { isOnline, hasCredentials, lastAttempt } = this.options.port.status();
    if (this.options.commit.isPending || lastAttempt?.result === "connecting") return "trying";
    return isOnline && hasCredentials ? "connected" : "form";
  }

  #get(request: Request, pathname: string, address: string): Response {
    switch (pathname) {
      case "/":
        return this.#page(request, address);
      case "/status":
        return Response.json({ state: this.#state }, { headers: { "cache-control": "no-store" } });
      case "/save":
      case "/scan":
        return redirect(this.#home);
      default: {
        const { notFound } = messagesFor(request.headers.get("accept-language"));
        return text(`${notFound} ${this.#home}\n`, 404);
      }
    }
  }

  async #post(request: Request, pathname: string, address: string): Promise<Response> {
    const origin = request.headers.get("origin");
    const isForeign = origin !== null && origin !== "null" &&
      origin !== `http://${request.headers.get("host")}`;
    if (isForeign) return text("this form is not of this page\n", 403);
    switch (pathname) {
      case "/save":
        return await this.#save(request, address);
      case "/scan":
        return await this.#scan(request, address);
      case "/active":
        return await this.#active(request, address);
      default:
        return text("there is nothing to send to here\n", 404);
    }
  }

  async #save(request: Request, address: string): Promise<Response> {
    const { port, commit } = this.options;
    let fields: Fields | undefined;
    let chosen: string | undefined;
    try {
      fields = await Fields.read(request);
      if (!this.#tokens.isGood(fields.text("token"), address)) throw new FormError("old-page");
      port.userActive();
      const { network, credentials } = await readChoice(fields, port);
      // From here on nothing waits: of two phones one is first.
      if (this.#state === "trying") throw new FormError("busy");
      // The credentials first: a network alone must not be tried out when they are refused.
      if (credentials) port.stageCredentials(credentials);
      if (network) port.stageNetwork(network);
      chosen = network && networkName(network.ssid);
      port.clearErrors();
      commit.schedule();
    } catch (error) {
      const problem = formError(error);
      const entered = fields && enteredIn(fields);
      const { kind, detail } = problem;
      const shown = { kind, ...(detail === undefined ? {} : { detail }) };
      const status = STATUS_OF[kind] ?? 422;
      return this.#page(request, address, { problem: shown, entered }, status);
    }
    // Not by a redirect: the hotspot may be gone before it is followed.
    return this.#page(request, address, { chosen });
  }

  async #scan(request: Request, address: string): Promise<Response> {
    try {
      const fields = await Fields.read(request);
      if (!this.#tokens.isGood(fields.text("token"), address)) throw new FormError("old-page");
    } catch (error) {
      const { kind } = formError(error);
      return this.#page(request, address, { problem: { kind } }, STATUS_OF[kind] ?? 422);
    }
    this.options.port.userActive();
    this.options.port.requestScan();
    return redirect(this.#home, 303);
  }

  async #active(request: Request, address: string): Promise<Response> {
    try {
      const token = new TextDecoder().decode(await readBody(request));
      if (!this.#tokens.isGood(token, address)) throw new FormError("old-page");
    } catch (error) {
      return text("refused\n", STATUS_OF[formError(error).kind] ?? 422);
    }
    this.options.port.userActive();
    return new Response(null, { status: 204 });
  }

  #page(
    request: Request,
    address: string,
    more: Pick<PageView, "problem" | "entered" | "chosen"> = {},
    status = 200,
  ): Response {
    const { port, hotspot } = this.options;
    const html = renderPage({
      messages: messagesFor(request.headers.get("accept-language")),
      status: port.status(),
      networks: port.networks(),
      hotspot,
      token: this.#tokens.issue(address),
      state: this.#state,
      ...more,
    });
    // What was refused unread must not be taken for the next request.
    const ending = status === 413 ? { connection: "close" } : {};
    return new Response(html, {
      status,
      headers: {
        "content-type": "text/html; charset=utf-8",
        "content-security-policy": CONTENT_SECURITY_POLICY,
        "cache-control": "no-store",
        "x-content-type-options": "nosniff",
        "x-frame-options": "DENY",
        "referrer-policy": "same-origin",
        "vary": "accept-language",
        ...ending,
      },
    });
  }
}

function formError(error: unknown): FormError {
  if (error instanceof FormError) return error;
  if (!(error instanceof ProvisioningInputError)) throw error;
  return new FormError(STAGE_PROBLEM[error.field], error.message);
}

function redirect(location: string, status = 302): Response {
  return new Response(null, { status, headers: { location, "cache-control": "no-store" } });
}

function text(body: string, status: number): Response {
  return new Response(body, {
    status,
    headers: {
      "content-type": "text/plain; charset=utf-8",
      "cache-control": "no-store",
      "x-content-type-options": "nosniff",
    },
  });
}
