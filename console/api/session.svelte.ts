import { Code, ConnectError, createClient, type Interceptor } from "@connectrpc/connect";
import { createConnectTransport } from "@connectrpc/connect-web";
import {
  AccountService,
  type GetAccountResponse,
} from "../../shared/gen/machine/cloud/v1/accounts_pb.ts";
import { AuthService } from "../../shared/gen/proto/rpc/v1/auth_pb.ts";
import { isSignedOut } from "./errors.ts";

/** Where the token of an API key is kept: as long as the tab is open. People have a cookie instead. */
const KEPT_TOKEN = "machine-cloud.token";
const KEPT_KEY_ID = "machine-cloud.key-id";
/** A call that takes longer is given up. Streams have no deadline. */
const DEADLINE_MS = 20_000;

/** Who looks at the console. */
export type Viewer =
  | { readonly kind: "person"; readonly account: GetAccountResponse }
  | { readonly kind: "key"; readonly keyId: string };

/** Whether somebody is signed in, and who. */
class Session {
  /** Undefined while it is not known. */
  viewer = $state<Viewer | "nobody" | undefined>(undefined);
  /** Somebody was signed in, and is not any more. */
  hasEnded = $state(false);

  /** Asks the cloud who is signed in here. Rejects when it cannot be reached. */
  async find(): Promise<void> {
    const keyId = sessionStorage.getItem(KEPT_KEY_ID);
    if (sessionStorage.getItem(KEPT_TOKEN) !== null && keyId !== null) {
      this.viewer = { kind: "key", keyId };
      return;
    }
    try {
      if (!(await sendSession("GET")).signed_in) {
        this.viewer = "nobody";
        return;
      }
      const account = await createClient(AccountService, transport).getAccount({});
      this.viewer = { kind: "person", account };
    } catch (error) {
      if (!isSignedOut(error)) throw error;
      this.viewer = "nobody";
    }
  }

  /** Signs in with an API key; rejects with UNAUTHENTICATED when it is not valid. */
  async signInByKey(keyId: string, key: string): Promise<void> {
    const { accessToken } = await createClient(AuthService, transport).authenticate({
      entity: keyId,
      credentials: { type: "api-key", payload: key },
    });
    sessionStorage.setItem(KEPT_TOKEN, accessToken);
    sessionStorage.setItem(KEPT_KEY_ID, keyId);
    this.hasEnded = false;
    this.viewer = { kind: "key", keyId };
  }

  /**
   * Signs a person in; the session is kept in a cookie that no script reads.
   *
   * @returns whether the person is signed in, or a code of the second factor is missing.
   */
  async signInByPassword(
    fields: { readonly email: string; readonly password: string; readonly code: string },
  ): Promise<"signed in" | "code required"> {
    const answer = await sendSession("POST", fields);
    if (!answer.signed_in) return "code required";
    this.hasEnded = false;
    await this.find();
    return "signed in";
  }

  /** Ends the session here and in the cloud. */
  async signOut(): Promise<void> {
    if (this.viewer !== undefined && this.viewer !== "nobody" && this.viewer.kind === "person") {
      await sendSession("DELETE");
    }
    this.#forget();
    this.hasEnded = false;
  }

  /** The cloud does not know the session any more. */
  end(): void {
    this.hasEnded = this.viewer !== "nobody" && this.viewer !== undefined;
    this.#forget();
  }

  #forget(): void {
    sessionStorage.removeItem(KEPT_TOKEN);
    sessionStorage.removeItem(KEPT_KEY_ID);
    this.viewer = "nobody";
  }
}

interface SessionAnswer {
  readonly signed_in: boolean;
}

/** Looks at, begins or ends the session of this browser; rejects as a failed call does. */
async function sendSession(
  method: "GET" | "POST" | "DELETE",
  fields?: object,
): Promise<SessionAnswer> {
  let response: Response;
  let answer: unknown;
  try {
    response = await fetch("/account/session", {
      method,
      ...(fields === undefined
        ? {}
        : { body: JSON.stringify(fields), headers: { "content-type": "application/json" } }),
      signal: AbortSignal.timeout(DEADLINE_MS),
    });
    answer = response.status === 204 ? { signed_in: false } : await response.json();
  } catch (error) {
    throw new ConnectError(String(error), Code.Unavailable, undefined, undefined, error);
  }
  if (response.ok) return answer as SessionAnswer;
  const { code = "", message = "" } = answer as {
    readonly code?: string;
    readonly message?: string;
  };
  throw new ConnectError(message, CODES[code] ?? Code.Internal);
}

const CODES: Readonly<Record<string, Code>> = {
  invalid_argument: Code.InvalidArgument,
  unauthenticated: Code.Unauthenticated,
  permission_denied: Code.PermissionDenied,
  resource_exhausted: Code.ResourceExhausted,
  unavailable: Code.Unavailable,
};

const authorize: Interceptor = (next) => async (request) => {
  const token = sessionStorage.getItem(KEPT_TOKEN);
  if (token !== null && request.service !== AuthService) {
    request.header.set("authorization", `Bearer ${token}`);
  }
  request.header.set("machine-client", "console");
  try {
    return await next(request);
  } catch (error) {
    if (isSignedOut(error) && request.service !== AuthService && session.viewer !== undefined) {
      session.end();
    }
    throw error;
  }
};

/** How every call goes to the cloud that served this page. */
export const transport = createConnectTransport({
  baseUrl: globalThis.location?.origin ?? "",
  useBinaryFormat: true,
  defaultTimeoutMs: DEADLINE_MS,
  interceptors: [authorize],
});

/** The session of this browser tab. */
export const session = new Session();
