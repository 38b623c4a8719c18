import { Code, ConnectError, createClient, type Interceptor } from "@connectrpc/connect";
import { createConnectTransport } from "@connectrpc/connect-web";
import {
  AccountService,
  type GetAccountResponse,
} from "../../shared/gen/machine/cloud/v1/accounts_pb.ts";
import { AuthService } from "../../shared/gen/proto/rpc/v1/auth_pb.ts";
import { type ReasonGiven, refusal } from "../../shared/rpc/reasons.ts";
import { isSignedOut } from "./errors.ts";
import { sharedFetch } from "./shared_fetch.ts";

/** Where the token of an API key is kept: as long as the tab is open. People have a cookie instead. */
const KEPT_TOKEN = "machine-cloud.token";
const KEPT_KEY_ID = "machine-cloud.key-id";
/** The deadline of a call. Streams have no deadline. */
const DEADLINE_MS = 20_000;

/** Who looks at the console. */
export type Viewer =
  | {
    readonly kind: "person";
    readonly account: GetAccountResponse;
    readonly sessionId: string;
  }
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
      const { signed_in: isIn, session_id: sessionId = "" } = await sendSession("GET");
      if (!isIn) {
        this.viewer = "nobody";
        return;
      }
      const account = await createClient(AccountService, transport).getAccount({});
      this.viewer = { kind: "person", account, sessionId };
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
  readonly session_id?: string;
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
  const { code = "", message = "" } = answer as { code?: string; message?: string };
  throw failureIn(answer, message, CODES[code] ?? Code.Internal);
}

/** What a route that is no RPC refuses with, by the JSON that it answers. */
function failureIn(answer: unknown, message: string, code: Code): ConnectError {
  const { reason, values = {} } = answer as Partial<ReasonGiven>;
  return reason ? refusal(reason, values, message, code) : new ConnectError(message, code);
}

const CODES: Readonly<Record<string, Code>> = {
  invalid_argument: Code.InvalidArgument,
  unauthenticated: Code.Unauthenticated,
  permission_denied: Code.PermissionDenied,
  resource_exhausted: Code.ResourceExhausted,
  unavailable: Code.Unavailable,
};

/** Calls in which people prove themselves once more: a wrong password does not end the session. */
const PROVING: ReadonlySet<string> = new Set(["ChangePassword", "RemoveSecondFactor"]);

async function isStillIn(): Promise<boolean> {
  try {
    return (await sendSession("GET")).signed_in;
  } catch {
    return true;
  }
}

function refused(error: unknown): ConnectError {
  const { rawMessage, details } = ConnectError.from(error);
  const other = new ConnectError(rawMessage, Code.InvalidArgument);
  other.details = details;
  return other;
}

/** What says who calls: the token of a key. People have their cookie. */
export function callHeaders(): Readonly<Record<string, string>> {
  const token = sessionStorage.getItem(KEPT_TOKEN);
  return {
    "machine-client": "console",
    ...(token === null ? {} : { authorization: `Bearer ${token}` }),
  };
}

const authorize: Interceptor = (next) => async (request) => {
  for (const [name, value] of Object.entries(callHeaders())) {
    if (name !== "authorization" || request.service.typeName !== AuthService.typeName) {
      request.header.set(name, value);
    }
  }
  try {
    return await next(request);
  } catch (error) {
    if (
      isSignedOut(error) && request.service.typeName !== AuthService.typeName &&
      session.viewer !== undefined
    ) {
      if (PROVING.has(request.method.name) && await isStillIn()) throw refused(error);
      session.end();
    }
    throw error;
  }
};

/**
 * Loads a file of the cloud as the viewer. Rejects as a failed call does.
 *
 * @param progress gets how many bytes have come
 */
export async function download(
  path: string,
  { signal, progress }: { signal: AbortSignal; progress: (bytes: number) => void },
): Promise<Blob> {
  const token = sessionStorage.getItem(KEPT_TOKEN);
  const headers: HeadersInit = token === null ? {} : { authorization: `Bearer ${token}` };
  let response: Response;
  const parts: Uint8Array<ArrayBuffer>[] = [];
  try {
    response = await fetch(path, { headers, signal });
    let size = 0;
    const reader = response.body?.getReader();
    for (let read = await reader?.read(); read && !read.done; read = await reader?.read()) {
      parts.push(read.value);
      progress(size += read.value.length);
    }
  } catch (error) {
    throw new ConnectError(String(error), Code.Unavailable, undefined, undefined, error);
  }
  const type = response.headers.get("content-type") ?? "";
  const file = new Blob(parts, { type });
  if (response.ok) return file;
  const text = (await file.text()).slice(0, 1_000);
  const code = STATUSES[response.status] ?? Code.Unknown;
  if (code === Code.Unauthenticated) throw refusal("SESSION_OVER", {}, text, code);
  const answer: unknown = type.includes("json") ? JSON.parse(text) : {};
  throw failureIn(answer, (answer as { error?: string }).error ?? text, code);
}

const STATUSES: Readonly<Record<number, Code>> = {
  400: Code.InvalidArgument,
  401: Code.Unauthenticated,
  403: Code.PermissionDenied,
  404: Code.NotFound,
  409: Code.FailedPrecondition,
  503: Code.Unavailable,
};

/** How every call goes to the cloud that served this page. */
export const transport = createConnectTransport({
  baseUrl: globalThis.location?.origin ?? "",
  useBinaryFormat: true,
  defaultTimeoutMs: DEADLINE_MS,
  interceptors: [authorize],
  // Of a key its token is among the headers.
  fetch: sharedFetch(() => {
    const { viewer } = session;
    return typeof viewer === "object" && viewer.kind === "person" ? viewer.sessionId : "";
  }),
});

/** The session of this browser tab. */
export const session = new Session();
