/** For tests: an API server over HTTP or HTTPS in front of a {@link FakeCluster}. */
import { waitFor } from "../../../shared/base/time/wait_for.ts";
import assert from "node:assert/strict";
import { join } from "node:path";
import { freePort } from "../../../shared/test_tools/free_port.ts";
import { TestAuthority } from "../../triggers/delivery/certificates_testing.ts";
import { CUT } from "./fake_kubelet.ts";
import { FakeCluster, type FakeObject, type Kind } from "./fake_cluster.ts";

export const NAMESPACE = "training";
const PATH =
  /^\/(?:apis\/batch\/v1|api\/v1)\/namespaces\/([^/]+)\/(jobs|secrets|pods|events)(?:\/([^/]+))?(?:\/(log))?$/;

export interface ApiServerOptions {
  /** What is wrong with an object, by the published schemas; undefined: nothing. */
  readonly check?: (object: object) => Promise<string | undefined>;
  /** Of containers, besides those of their pods. */
  readonly variables?: Readonly<Record<string, string>>;
}

export class FakeApiServer implements AsyncDisposable {
  readonly #authority = new TestAuthority();
  readonly #certificate = this.#authority.issue("localhost");
  readonly #streams = new Set<AbortController>();
  /** Verbs and resources that were asked with: `create jobs`. */
  readonly verbs = new Set<string>();
  /** The only one that is taken. */
  token = crypto.randomUUID();
  /** Answers in place of the server. */
  instead: ((verb: string) => Response | undefined) | undefined;
  /** What went wrong in here: a test with any fails. */
  readonly #faults: string[] = [];
  #server: Deno.HttpServer<Deno.NetAddr> | undefined;
  readonly #port = freePort();

  private constructor(
    readonly cluster: FakeCluster,
    private readonly options: ApiServerOptions,
  ) {}

  static async start(options: ApiServerOptions = {}): Promise<FakeApiServer> {
    const server = new FakeApiServer(await FakeCluster.start(options.variables), options);
    await Deno.writeTextFile(server.caFile, server.#authority.cert);
    await server.writeToken();
    await server.listen();
    return server;
  }

  get url(): string {
    return `https://localhost:${this.#port}`;
  }

  get caFile(): string {
    return join(this.cluster.folder, "ca.crt");
  }

  get tokenFile(): string {
    return join(this.cluster.folder, "token");
  }

  /** The token as it is now: a kubelet does so when it has changed. */
  async writeToken(): Promise<void> {
    await Deno.writeTextFile(this.tokenFile, `${this.token}\n`);
  }

  /** Again on its port, which a connection of somebody else may have for a moment. */
  async listen(): Promise<void> {
    await waitFor(() => this.#listens(), {
      deadlineMs: 60_000,
      what: "the port of the API server",
    });
  }

  #listens(): boolean {
    try {
      this.#serve();
      return true;
    } catch (error) {
      if (error instanceof Deno.errors.AddrInUse) return false;
      throw error;
    }
  }

  #serve(): void {
    this.#server = Deno.serve(
      {
        ...this.#certificate,
        port: this.#port,
        hostname: "127.0.0.1",
        onListen() {},
        onError: (error) => {
          if ((error as Error).message !== CUT) this.#faults.push(String(error));
          return status(500, String(error));
        },
      },
      (request) => this.#answer(request),
    );
  }

  /** Nobody listens any more, and streams break. */
  async down(): Promise<void> {
    this.cut();
    await this.#server?.shutdown();
    this.#server = undefined;
  }

  /** Breaks what is being followed and watched. */
  cut(): void {
    for (const container of this.cluster.containers.values()) container.log.cut();
    for (const stream of this.#streams) stream.abort(new Error(CUT));
    this.#streams.clear();
  }

  async #answer(request: Request): Promise<Response> {
    const url = new URL(request.url);
    const [, namespace, kind, name, log] = PATH.exec(url.pathname) ?? [];
    if (request.headers.get("authorization") !== `Bearer ${this.token}`) {
      return status(401, "Unauthorized");
    }
    if (namespace !== NAMESPACE || kind === undefined) return status(403, "forbidden");
    const query = url.searchParams;
    const verb = verbOf(request.method, name, log, query);
    const asked = `${verb} ${log ? "pods/log" : kind}`;
    this.verbs.add(asked);
    const instead = this.instead?.(asked);
    if (instead) return instead;
    const objects = this.cluster.objects[kind as Kind];
    if (verb === "create") return await this.#create(kind as Kind, request);
    if (verb === "watch") return this.#watch(query);
    if (verb === "list") {
      const items = [...objects.values()].filter((one) => isChosen(one, query));
      return Response.json({
        metadata: { resourceVersion: String(this.cluster.version) },
        items,
      });
    }
    const found = objects.get(name ?? "");
    if (!found) return status(404, `${kind} "${name}" not found`);
    if (log) return this.#log(found, query);
    if (verb === "patch") {
      assert.equal(request.headers.get("content-type"), "application/merge-patch+json");
      const { spec } = await request.json();
      Object.assign(found.spec, spec);
      this.cluster.resume(found);
    }
    if (verb === "delete") {
      assert.equal((await request.json()).propagationPolicy, "Foreground");
      this.cluster.delete(found.metadata.name);
    }
    return Response.json(found);
  }

  async #create(kind: Kind, request: Request): Promise<Response> {
    const object = await request.json() as FakeObject;
    const wrong = await this.options.check?.(object);
    if (wrong !== undefined) return status(422, wrong);
    const { metadata: { name, ownerReferences } } = object;
    assert.match(name, /^[a-z0-9][-a-z0-9]{0,61}[a-z0-9]$/);
    if (this.cluster.objects[kind].has(name)) return status(409, `${name} already exists`);
    const uids = [...this.cluster.objects.jobs.values()].map(({ metadata }) => metadata.uid);
    for (const { uid } of ownerReferences ?? []) assert.ok(uids.includes(uid), "no such owner");
    return Response.json(this.cluster.add(kind, object), { status: 201 });
  }

  #watch(query: URLSearchParams): Response {
    const { cluster } = this;
    let version = Number(query.get("resourceVersion"));
    const cut = new AbortController();
    this.#streams.add(cut);
    let told = () => {};
    const ended = () => {
      cluster.watchers.delete(told);
      this.#streams.delete(cut);
    };
    const stream = new ReadableStream<Uint8Array>({
      start(controller) {
        cut.signal.addEventListener("abort", () => {
          ended();
          controller.error(cut.signal.reason);
        });
        told = () => {
          for (const change of cluster.history.filter((one) => one.version > version)) {
            version = change.version;
            if (isChosen(JSON.parse(change.object).object, query)) {
              controller.enqueue(new TextEncoder().encode(`${change.object}\n`));
            }
          }
        };
        cluster.watchers.add(told);
        told();
      },
      cancel: ended,
    });
    return new Response(stream);
  }

  #log(pod: FakeObject, query: URLSearchParams): Response {
    const container = this.cluster.containers.get(pod.metadata.name);
    if (!container) return status(400, "container is waiting to start");
    assert.equal(query.get("timestamps"), "true");
    const since = query.get("sinceTime");
    const sinceMs = since === null ? 0 : Date.parse(since);
    return new Response(container.log.read(sinceMs, query.get("follow") === "true"));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.down();
    await this.cluster[Symbol.asyncDispose]();
    assert.deepEqual(this.#faults, []);
  }
}

function verbOf(
  method: string,
  name: string | undefined,
  log: string | undefined,
  query: URLSearchParams,
): string {
  if (method === "GET" && name === undefined) return query.has("watch") ? "watch" : "list";
  const verbs: Record<string, string> = {
    GET: "get",
    POST: "create",
    DELETE: "delete",
    PATCH: "patch",
  };
  return log ? "get" : verbs[method] ?? method;
}

function isChosen({ metadata: { labels = {} } }: FakeObject, query: URLSearchParams): boolean {
  const uid = query.get("fieldSelector")?.split("=")[1];
  if (uid !== undefined) return labels["of"] === uid;
  const [key = "", value] = query.get("labelSelector")?.split("=") ?? [];
  return key === "" || labels[key] === value;
}

function status(code: number, message: string): Response {
  return Response.json({ kind: "Status", status: "Failure", message, code }, { status: code });
}
