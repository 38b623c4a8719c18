import { createHash, randomBytes } from "node:crypto";
import { timestampDate } from "@bufbuild/protobuf/wkt";
import { type Client, Code, ConnectError } from "@connectrpc/connect";
import type { Clock } from "../../shared/base/time/clock.ts";
import type { AccountService, SignedIn } from "../../shared/gen/machine/cloud/v1/accounts_pb.ts";

/** What signing in by a browser needs from outside. */
export interface BrowserDeps {
  readonly clock: Clock;
  /** A person sits at the terminal. */
  readonly isInteractive: boolean;
  /** Opens a page; false: there is no browser here. */
  readonly open: (url: string) => Promise<boolean>;
  /** Shows the person a line while they are waited for. */
  readonly tell: (text: string) => void;
  /** What this host is called. */
  readonly computer: string;
}

type Account = Pick<
  Client<typeof AccountService>,
  "exchangeSignInCode" | "startDeviceSignIn" | "finishDeviceSignIn"
>;

/** How long the person may take, as the cloud gives them. */
const PATIENCE_MS = 10 * 60_000;
const TIMEOUT_MS = 20_000;

/**
 * Signs in with the browser of this host, which brings a code to a port of it (RFC 8252, PKCE).
 *
 * @returns undefined: there is no browser here
 * @throws {Error} when the person refuses or takes too long; {ConnectError} of the cloud
 */
export async function signInByBrowser(
  account: Account,
  cloud: string,
  { open, tell, clock }: Pick<BrowserDeps, "open" | "tell" | "clock">,
): Promise<SignedIn | undefined> {
  const verifier = randomBytes(32).toString("base64url");
  const state = randomBytes(24).toString("base64url");
  const answer = Promise.withResolvers<URLSearchParams>();
  const server = Deno.serve(
    { hostname: "127.0.0.1", port: 0, onListen: () => {} },
    (request) => answerTo(new URL(request.url), state, answer.resolve),
  );
  const patience = clock.setTimer(
    PATIENCE_MS,
    () => answer.reject(new Error("nobody let this program in within ten minutes")),
  );
  try {
    const redirectUri = `http://127.0.0.1:${server.addr.port}/callback`;
    const url = `${cloud}/account/authorize?${new URLSearchParams({
      redirect_uri: redirectUri,
      state,
      code_challenge: createHash("sha256").update(verifier).digest("base64url"),
      code_challenge_method: "S256",
    })}`;
    if (!await open(url)) return undefined;
    tell(`Let this program in, in the browser that opens. If none does, open\n\n  ${url}\n`);
    const came = await answer.promise;
    const code = came.get("code");
    if (code === null) throw new Error("you refused to let this program in");
    const given = { code, codeVerifier: verifier, redirectUri };
    return (await account.exchangeSignInCode(given, { timeoutMs: TIMEOUT_MS })).signedIn;
  } finally {
    patience.cancel();
    await server.shutdown();
  }
}

function answerTo(url: URL, state: string, came: (query: URLSearchParams) => void): Response {
  // Whatever else asks here has nothing to say.
  if (url.pathname !== "/callback" || url.searchParams.get("state") !== state) {
    return new Response("not found", { status: 404 });
  }
  came(url.searchParams);
  const text = url.searchParams.has("code")
    ? "You are signed in. Go back to the terminal; this page can be closed."
    : "The program was refused. This page can be closed.";
  return new Response(
    `<!doctype html><html lang="en"><meta charset="utf-8"><title>machine</title><p>${text}</p>`,
    {
      headers: {
        "content-type": "text/html; charset=utf-8",
        "content-security-policy": "default-src 'none'",
        "connection": "close",
      },
    },
  );
}

/**
 * Signs in by a short code that the person types in a browser of any host (RFC 8628).
 *
 * @throws {Error} when the person refuses or takes too long; {ConnectError} of the cloud
 */
export async function signInByDeviceCode(
  account: Account,
  { tell, clock, computer }: Pick<BrowserDeps, "tell" | "clock" | "computer">,
): Promise<SignedIn> {
  const started = await account.startDeviceSignIn({ clientName: `machine on ${computer}` }, {
    timeoutMs: TIMEOUT_MS,
  });
  tell(
    `Open this address in a browser on any computer\n\n  ${started.verificationUrlComplete}\n\n` +
      `and let the program in that shows the code ${started.userCode}.\n`,
  );
  const { deviceCode, expiresAt } = started;
  const lastsMs = expiresAt ? timestampDate(expiresAt).getTime() - clock.now().getTime() : 0;
  // The clocks of two hosts differ.
  const endMs = clock.monotonicMs() + Math.min(Math.max(lastsMs, 60_000), PATIENCE_MS);
  const everyMs = Math.max(started.intervalSeconds, 1) * 1_000;
  while (clock.monotonicMs() < endMs) {
    await new Promise<void>((resolve) => clock.setTimer(everyMs, resolve));
    try {
      const { result } = await account.finishDeviceSignIn({ deviceCode }, {
        timeoutMs: TIMEOUT_MS,
      });
      if (result.case === "signedIn") return result.value;
    } catch (error) {
      if (!isPassing(error)) throw error;
    }
  }
  throw new Error("nobody let this program in within ten minutes");
}

/** What another question may answer otherwise. */
function isPassing(error: unknown): boolean {
  const codes = [Code.ResourceExhausted, Code.Unavailable, Code.DeadlineExceeded];
  return error instanceof ConnectError && codes.includes(error.code);
}
