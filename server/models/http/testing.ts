/** A web server of a test's own. */
export interface TestSite {
  /** `http://127.0.0.1:PORT` */
  readonly origin: string;
  /** The requests that came, as `METHOD path`. */
  readonly requests: string[];
  close(): Promise<void>;
}

/** Starts one on a free port. */
function testSite(answer: (request: Request) => Response | Promise<Response>): TestSite {
  const requests: string[] = [];
  const server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen: () => {} }, (request) => {
    const { pathname, search } = new URL(request.url);
    requests.push(`${request.method} ${pathname}${search}`);
    return answer(request);
  });
  return {
    origin: `http://127.0.0.1:${server.addr.port}`,
    requests,
    close: () => server.shutdown(),
  };
}

/** Runs a test with a site and ends that afterwards. */
export async function withSite(
  answer: (request: Request) => Response | Promise<Response>,
  run: (site: TestSite) => Promise<void>,
): Promise<void> {
  const site = testSite(answer);
  try {
    await run(site);
  } finally {
    await site.close();
  }
}
