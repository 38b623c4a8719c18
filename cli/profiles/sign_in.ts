import { timestampDate } from "@bufbuild/protobuf/wkt";
import { Code, ConnectError } from "@connectrpc/connect";
import { toError } from "../../shared/base/errors/to_error.ts";
import { UsageError } from "../../shared/base/flags/flags.ts";
import { clientOf } from "../../shared/commands/run/command.ts";
import type { OpenCloud } from "../../shared/commands/run/run_command.ts";
import { AccountService, type SignedIn } from "../../shared/gen/machine/cloud/v1/accounts_pb.ts";
import { AppService, type Organization } from "../../shared/gen/viam/app/v1/app_pb.ts";
import { type BrowserDeps, signInByBrowser, signInByDeviceCode } from "./browser_sign_in.ts";
import type { Profile, SessionProfile } from "./profiles.ts";

/** A cloud, before somebody has signed in there. */
type Place = Pick<Profile, "cloud" | "allow_insecure">;

/** What signing in needs from outside. */
export interface SignInDeps {
  readonly cloudAddress: (text: string) => string;
  readonly connect: (profile: Profile | Place) => OpenCloud;
  /** Asks the person; hidden texts are not shown while they are typed. */
  readonly ask: (question: string, options?: { readonly hidden?: boolean }) => Promise<string>;
  readonly browser: BrowserDeps;
}

/** What the command line says of who signs in. */
export interface SignInWish {
  readonly cloud: string;
  readonly email: string | undefined;
  readonly "key-id": string | undefined;
  readonly key: string | undefined;
  readonly "allow-insecure-creds": boolean;
  readonly browser: boolean;
  readonly "device-code": boolean;
}

const TIMEOUT_MS = 20_000;

/**
 * Signs in by API key, by e-mail and password, or by a browser, and requests what is missing. Where
 * a person says nothing it is the browser, or a short code where there is none.
 *
 * @throws {UsageError} when nothing is given; {Error} that says why the cloud does not take it
 */
export async function signIn(
  deps: SignInDeps,
  wish: SignInWish,
): Promise<{ readonly organizations: Organization[]; readonly profile: Profile }> {
  const place = {
    cloud: deps.cloudAddress(wish.cloud),
    ...(wish["allow-insecure-creds"] ? { allow_insecure: true } : {}),
  };
  const way = wayOf(deps, wish);
  if (way !== undefined) {
    const profile = await sessionByBrowser(deps, place, way);
    return { organizations: await organizationsOf(deps, profile), profile };
  }
  const who = wish.email ?? wish["key-id"] ??
    await deps.ask("E-mail address, or id of an API key: ");
  const isPerson = wish.email !== undefined || who.includes("@");
  const profile = isPerson
    ? await sessionOf(deps, place, who)
    : { ...place, ...await keyOf(deps, who, wish.key) };
  return { organizations: await organizationsOf(deps, profile), profile };
}

async function organizationsOf(deps: SignInDeps, profile: Profile): Promise<Organization[]> {
  return await calling(deps, profile, async (context) => {
    const app = await clientOf(context, AppService);
    return (await app.listOrganizations({}, { timeoutMs: TIMEOUT_MS })).organizations;
  });
}

type BrowserWay = "browser" | "device code";

/** Undefined: by what is typed in. @throws {UsageError} for two ways at once */
function wayOf({ browser }: SignInDeps, wish: SignInWish): BrowserWay | undefined {
  const isTyped = wish.email !== undefined || wish["key-id"] !== undefined;
  const asked = [
    ...(wish.browser ? ["--browser"] : []),
    ...(wish["device-code"] ? ["--device-code"] : []),
    ...(wish.email === undefined ? [] : ["--email"]),
  ];
  if (asked.length > 1) {
    throw new UsageError(`${asked.join(" and ")} do not go together; choose one`);
  }
  if (wish["device-code"]) return "device code";
  if (wish.browser) return "browser";
  return !isTyped && browser.isInteractive ? "browser" : undefined;
}

/** Begins a session that a person lets in with a browser, here or elsewhere. */
async function sessionByBrowser(
  deps: SignInDeps,
  place: Place,
  way: BrowserWay,
): Promise<SessionProfile> {
  const signedIn = await calling(deps, place, async (context) => {
    const account = await clientOf(context, AccountService);
    const here = way === "browser"
      ? await signInByBrowser(account, place.cloud, deps.browser)
      : undefined;
    return here ?? await signInByDeviceCode(account, deps.browser);
  });
  return toProfile(place, signedIn);
}

function toProfile(place: Place, signedIn: SignedIn): SessionProfile {
  return {
    ...place,
    email: signedIn.email,
    access_token: signedIn.accessToken,
    expires_at: signedIn.expiresAt ? timestampDate(signedIn.expiresAt).toISOString() : "",
  };
}

/** Ends a person's session. @returns why that failed, as a sentence; undefined: it is over */
export async function endSession(
  deps: Pick<SignInDeps, "connect">,
  profile: SessionProfile,
): Promise<string | undefined> {
  const end = async ({ cloud }: { cloud: () => Promise<OpenCloud> }) => {
    const account = await clientOf({ cloud }, AccountService);
    try {
      await account.endSession({}, { timeoutMs: TIMEOUT_MS });
    } catch (error) {
      // It was over already.
      if (!(error instanceof ConnectError && error.code === Code.Unauthenticated)) throw error;
    }
  };
  try {
    await calling(deps, profile, end);
    return undefined;
  } catch (error) {
    const reason = toError(error).message;
    return `the session of ${profile.email} could not be closed and lasts until ` +
      `${profile.expires_at}: ${reason}`;
  }
}

async function keyOf({ ask }: SignInDeps, keyId: string, given: string | undefined) {
  const key = given ?? (await ask("API key: ", { hidden: true })).trim();
  if (keyId === "" || key === "") {
    throw new UsageError("an API key is needed: give --key-id and --key, or type them in");
  }
  return { key_id: keyId, key };
}

/** Begins a session by password, and a code where the person has a second factor. */
async function sessionOf(deps: SignInDeps, place: Place, email: string): Promise<SessionProfile> {
  const password = await deps.ask("Password: ", { hidden: true });
  if (password === "") throw new UsageError("a password is needed: type it in");
  const signedIn = await calling(deps, place, async (context): Promise<SignedIn> => {
    const account = await clientOf(context, AccountService);
    const options = { timeoutMs: TIMEOUT_MS };
    const { result } = await account.signIn({ email, password }, options);
    if (result.case === "signedIn") return result.value;
    const code = await deps.ask("Code of your authenticator, or a recovery code: ");
    const second = await account.signIn({ email, password, code }, options);
    if (second.result.case === "signedIn") return second.result.value;
    throw new UsageError("a code is needed: type it in");
  });
  return toProfile(place, signedIn);
}

/** Does something with a connection of its own; what fails is reported as to a person. */
async function calling<T>(
  { connect }: Pick<SignInDeps, "connect">,
  profile: Profile | Place,
  work: (context: { cloud: () => Promise<OpenCloud> }) => Promise<T>,
): Promise<T> {
  await using connection = connect(profile);
  try {
    return await work({ cloud: () => Promise.resolve(connection) });
  } catch (error) {
    throw connection.advice(error);
  }
}
