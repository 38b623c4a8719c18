/** A server that sends a byte of its answer and then nothing. */
export function stallingServer() {
  const server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen: () => {} }, () => {
    const body = new ReadableStream({ start: (sent) => sent.enqueue(new Uint8Array(1)) });
    return new Response(body);
  });
  return {
    url: `http://127.0.0.1:${server.addr.port}/`,
    /** Has the runtime collect what nobody holds. */
    collect() {
      for (let n = 0; n < 100; n++) new Array(100_000).fill(0).map((_, at) => ({ at }));
    },
    [Symbol.asyncDispose]: () => server.shutdown(),
  };
}
