import { linkedController } from "../../../shared/base/time/linked_controller.ts";
import { pieces } from "../../../shared/transfer/download/pieces.ts";
import { ClusterAwayError, ClusterRefusedError } from "./cluster.ts";

const ANSWER_MS = 20_000;
/** Longest answer that is read. */
const MOST_BYTES = 64 * 2 ** 20;
const LONGEST_ERROR = 2_000;
const LONGEST_WAIT_MS = 60_000;

/** What is asked, and who answers, for people: `the API server at https://…`. */
export interface ClusterQuestion extends RequestInit {
  readonly who: string;
  /** Whether an answer that is no success means that it may be asked again. */
  readonly isAway: (status: number) => boolean;
}

/** Text of an answer. @throws {ClusterAwayError}, {ClusterRefusedError} */
export async function askCluster(url: string, question: ClusterQuestion): Promise<string> {
  let answer: Response;
  let text: string;
  try {
    const signal = AbortSignal.timeout(ANSWER_MS);
    answer = await fetch(url, { ...question, redirect: "error", signal });
    text = await boundedText(answer, signal);
  } catch (error) {
    throw new ClusterAwayError(`${question.who} does not answer: ${(error as Error).message}`);
  }
  if (answer.ok) return text;
  throw refusalOf(answer, text, question);
}

/** A stream of what is answered. @throws {ClusterAwayError}, {ClusterRefusedError} */
export async function streamCluster(
  url: string,
  question: ClusterQuestion,
  signal: AbortSignal,
): Promise<ReadableStream<Uint8Array>> {
  const late = linkedController(signal);
  const timer = setTimeout(() => late.abort(new Error("no answer in time")), ANSWER_MS);
  try {
    const answer = await fetch(url, {
      ...question,
      redirect: "error",
      signal: late.signal,
    });
    // The signal of a fetch ends its body only as long as somebody holds the answer.
    if (answer.ok && answer.body) {
      return answer.body.pipeThrough(new TransformStream(), { signal: late.signal });
    }
    throw refusalOf(answer, await boundedText(answer, late.signal), question);
  } catch (error) {
    signal.throwIfAborted();
    if (error instanceof ClusterRefusedError || error instanceof ClusterAwayError) throw error;
    throw new ClusterAwayError(`${question.who} does not answer: ${(error as Error).message}`);
  } finally {
    clearTimeout(timer);
  }
}

function refusalOf(
  { status, headers }: Response,
  text: string,
  { who, isAway }: ClusterQuestion,
): ClusterAwayError | ClusterRefusedError {
  const message = `${who} answered ${status}: ${messageOf(text).slice(0, LONGEST_ERROR).trim()}`;
  if (!isAway(status)) return new ClusterRefusedError(status, message);
  const waitMs = Number(headers.get("retry-after") ?? 0) * 1_000;
  return new ClusterAwayError(message, waitMs > 0 ? Math.min(waitMs, LONGEST_WAIT_MS) : 0);
}

/** What an answer says for people, when it is an object that does. */
function messageOf(text: string): string {
  try {
    const { message } = JSON.parse(text) as { message?: unknown };
    return typeof message === "string" && message !== "" ? message : text;
  } catch {
    return text;
  }
}

async function boundedText({ body }: Response, signal: AbortSignal): Promise<string> {
  const decoder = new TextDecoder();
  let text = "";
  let bytes = 0;
  try {
    for await (const piece of pieces(body, signal)) {
      bytes += piece.length;
      if (bytes > MOST_BYTES) throw new Error(`the answer has more than ${MOST_BYTES} bytes`);
      text += decoder.decode(piece, { stream: true });
    }
    return text + decoder.decode();
  } finally {
    await body?.cancel().catch(() => undefined);
  }
}
