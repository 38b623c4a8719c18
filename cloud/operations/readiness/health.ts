import { toError } from "../../../shared/base/errors/to_error.ts";

const ANSWER_WITHIN_MS = 5_000;

/** Asks a cloud whether it is ready. @param url where it listens */
export async function askHealth(url: string): Promise<{ text: string; code: 0 | 1 }> {
  let answer: string;
  try {
    const asked = new URL("/readyz", url);
    const response = await fetch(asked, { signal: AbortSignal.timeout(ANSWER_WITHIN_MS) });
    await response.body?.cancel();
    if (response.ok) return { text: `${url} is ready\n`, code: 0 };
    answer = `answers ${response.status}`;
  } catch (error) {
    answer = `cannot be reached: ${toError(error).message}`;
  }
  return { text: `${url} is not ready: it ${answer}\n`, code: 1 };
}
