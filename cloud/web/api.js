/** Calls to the cloud, as JSON. */

const TOKEN = "machine-cloud.token";

/** A call that failed; `code` as the cloud says it, or "unreachable". */
export class CallError extends Error {
  constructor(code, message) {
    super(message);
    this.code = code;
  }
}

export const session = {
  get signedIn() {
    return sessionStorage.getItem(TOKEN) !== null;
  },
  end() {
    sessionStorage.removeItem(TOKEN);
  },
};

export async function signIn(keyId, key) {
  const { accessToken } = await post("proto.rpc.v1.AuthService/Authenticate", {
    entity: keyId,
    credentials: { type: "api-key", payload: key },
  }, {});
  sessionStorage.setItem(TOKEN, accessToken);
}

const authorized = (path, message) =>
  post(path, message, { authorization: `Bearer ${sessionStorage.getItem(TOKEN)}` });

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
