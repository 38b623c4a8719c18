/**
 * The next message of a caller's stream; undefined at its end.
 *
 * @throws the signal's reason when it aborts first.
 */
export function nextRequest<T>(
  stream: AsyncIterator<T>,
  signal: AbortSignal,
): Promise<T | undefined> {
  return new Promise((resolve, reject) => {
    if (signal.aborted) return reject(signal.reason);
    const abort = () => reject(signal.reason);
    signal.addEventListener("abort", abort, { once: true });
    stream.next()
      .finally(() => signal.removeEventListener("abort", abort))
      .then(({ done, value }) => resolve(done ? undefined : value), reject);
  });
}
