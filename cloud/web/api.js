/** Calls to the cloud, as JSON. */

const TOKEN = "machine-cloud.token";

/** A call that failed; `code` as the cloud says it, or "unreachable". */
export class CallError extends Error {
  constructor(code, message) {
    super(message);
    this.code = code;
  }
}

let hasCookie = false;

/** Who is signed in: a person by a cookie that no script reads, or an API key by its token. */
export const session = {
  get signedIn() {
    return hasCookie || sessionStorage.getItem(TOKEN) !== null;
  },
  /** Asks the cloud whether the browser has the cookie of a session. */
  async load() {
    const answer = await fetch("/account/session").then((response) => response.json(), () => ({}));
    hasCookie = answer.signed_in === true;
  },
  end() {
    sessionStorage.removeItem(TOKEN);
    if (hasCookie) fetch("/account/session", { method: "DELETE" }).catch(() => undefined);
    hasCookie = false;
  },
};

export async function signIn(keyId, key) {
  const { accessToken } = await post("proto.rpc.v1.AuthService/Authenticate", {
    entity: keyId,
    credentials: { type: "api-key", payload: key },
  }, {});
  sessionStorage.setItem(TOKEN, accessToken);
}

function authorized(path, message) {
  const token = sessionStorage.getItem(TOKEN);
  return post(path, message, token === null ? {} : { authorization: `Bearer ${token}` });
}

export const app = (method, message = {}) =>
  authorized(`viam.app.v1.AppService/${method}`, message);

export const liveStatus = (partId) =>
  authorized("machine.cloud.v1.ConsoleService/GetPartLiveStatus", { partId });

export const releaseCall = (method, message = {}) =>
  authorized(`machine.cloud.v1.ReleaseService/${method}`, message);

async function post(path, message, headers) {
  let response;
  try {
    response = await fetch(`/${path}`, {
      method: "POST",
      headers: {
        "content-type": "application/json",
        "connect-protocol-version": "1",
        "machine-client": "console",
        ...headers,
      },
      body: JSON.stringify(message),
      signal: AbortSignal.timeout(10_000),
    });
  } catch {
    throw new CallError("unreachable", "The cloud cannot be reached.");
  }
  const answer = await response.json().catch(() => ({}));
  if (response.ok) return answer;
  if (response.status >= 500 && !answer.code) {
    throw new CallError("unreachable", "The cloud cannot be reached.");
  }
  throw new CallError(answer.code ?? "unknown", answer.message ?? `HTTP ${response.status}`);
}
