import { join } from "node:path";
import { ROOT } from "./install_rig.ts";

/** With a certificate of `localhost`, and of the authority `ca.pem`. */
export const TESTDATA = join(ROOT, "shared", "rpc", "testdata");

/** A cloud with TLS whose answer leads elsewhere, and what was requested without TLS. */
export class LeadingCloud implements AsyncDisposable {
  readonly asked: string[] = [];
  readonly #open = Deno.serve(
    { hostname: "127.0.0.1", port: 0, onListen: () => {} },
    (request) => {
      this.asked.push(new URL(request.url).pathname);
      return this.answer(request);
    },
  );
  readonly #safe: Deno.HttpServer<Deno.NetAddr>;

  /** @param isSafe whether it leads to the exact version next to it, or to http. */
  constructor(isSafe: boolean, private readonly answer: (request: Request) => Response) {
    const read = (name: string) => Deno.readTextFileSync(join(TESTDATA, name));
    const tls = { cert: read("cert.pem"), key: read("key.pem") };
    this.#safe = Deno.serve(
      { hostname: "127.0.0.1", port: 0, onListen: () => {}, ...tls },
      (request) => {
        const { pathname } = new URL(request.url);
        const exact = pathname.replace("/stable/", "/1.0.0/");
        if (isSafe && exact === pathname) return answer(request);
        const location = isSafe ? exact : `http://127.0.0.1:${this.#open.addr.port}${exact}`;
        return new Response(null, { status: 302, headers: { location } });
      },
    );
  }

  get url(): string {
    return `https://localhost:${this.#safe.addr.port}`;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all([this.#open.shutdown(), this.#safe.shutdown()]);
  }
}
