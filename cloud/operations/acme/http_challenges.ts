import type { ListenAddress } from "../../api/addresses/addresses.ts";

const PREFIX = "/.well-known/acme-challenge/";

/** Answers the questions by which an ACME server learns that a name leads here (HTTP-01). */
export class HttpChallenges {
  readonly #answers = new Map<string, string>();
  #server: Deno.HttpServer<Deno.NetAddr> | undefined;

  set(token: string, answer: string): void {
    this.#answers.set(token, answer);
  }

  remove(token: string): void {
    this.#answers.delete(token);
  }

  /** @throws when the port is taken or needs rights that the program has not. */
  listen({ hostname, port }: ListenAddress): { readonly port: number } {
    const server = Deno.serve(
      { hostname: hostname || "0.0.0.0", port, onListen: () => undefined },
      (request) => this.answer(new URL(request.url).pathname),
    );
    this.#server = server;
    return server.addr;
  }

  answer(path: string): Response {
    const answer = path.startsWith(PREFIX)
      ? this.#answers.get(path.slice(PREFIX.length))
      : undefined;
    if (answer !== undefined) return new Response(answer);
    return new Response("this port answers an ACME server only; use https\n", { status: 404 });
  }

  async close(): Promise<void> {
    await this.#server?.shutdown();
    this.#server = undefined;
  }
}
