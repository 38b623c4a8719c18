import { Edge, type EdgeOptions } from "./edge.ts";

export interface PlainHttpOptions
  extends Pick<EdgeOptions, "listen" | "limits" | "admit" | "onRefused"> {
  /**
   * Answers a request, whose URL can be parsed.
   *
   * @param address of the caller
   */
  readonly answer: (request: Request, address: string) => Response | Promise<Response>;
  /** Called with what `answer` throws; the caller gets 500. */
  readonly onError: (error: unknown) => void;
}

/** Serves HTTP/1.1 without TLS to strangers: bounded in connections, and in the time they take. */
export class PlainHttp {
  private constructor(
    private readonly edge: Edge,
    private readonly server: Deno.HttpServer<Deno.NetAddr>,
  ) {}

  /** @throws {PortInUseError} when the port is taken */
  static async listen({ answer, onError, ...options }: PlainHttpOptions): Promise<PlainHttp> {
    const edgeOf = (): Edge => edge;
    const server = Deno.serve(
      {
        hostname: "127.0.0.1",
        port: 0,
        onListen: () => undefined,
        onError: (error) => {
          onError(error);
          return new Response("internal error\n", { status: 500 });
        },
      },
      async (request, info) => {
        const caller = edgeOf().behindPrivate(info.remoteAddr as Deno.NetAddr);
        if (!caller) return new Response("forbidden\n", { status: 403 });
        caller.times.began();
        const ended = () => caller.times.ended();
        info.completed.then(ended, ended);
        if (!URL.canParse(request.url)) return new Response("malformed\n", { status: 400 });
        return await answer(request, caller.peer.address);
      },
    );
    let edge: Edge;
    try {
      edge = await Edge.listen({
        ...options,
        onHttp2: (socket) => socket.destroy(),
        httpPort: (server.addr as Deno.NetAddr).port,
      });
    } catch (error) {
      await server.shutdown();
      throw error;
    }
    return new PlainHttp(edge, server as Deno.HttpServer<Deno.NetAddr>);
  }

  /** The address that is listened on; the real port when 0 was requested. */
  get address(): { readonly hostname: string; readonly port: number } {
    return this.edge.address;
  }

  /** Ends every connection. */
  async close(): Promise<void> {
    this.edge.stopAccepting();
    this.edge.destroy();
    await this.server.shutdown();
  }
}
