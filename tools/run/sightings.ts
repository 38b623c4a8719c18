/** The webhook of the demo's trigger. */

/** What `make run` prints when the rover sees the red ball. */
export const SIGHTING =
  "The rover sees the red ball: camera → detection → data in the cloud → trigger → this line.";

/** Answers on a free port of this host; each notification is one line. */
export class Sightings {
  readonly #server: Deno.HttpServer<Deno.NetAddr>;

  /** @param report gets the line. */
  constructor(report: (line: string) => void) {
    this.#server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen: () => {} }, (request) => {
      if (request.method !== "POST") return new Response(null, { status: 405 });
      report(SIGHTING);
      return new Response(null, { status: 204 });
    });
  }

  get url(): string {
    return `http://127.0.0.1:${this.#server.addr.port}/red-ball`;
  }

  async close(): Promise<void> {
    await this.#server.shutdown();
  }
}
