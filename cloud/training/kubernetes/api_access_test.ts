/** The credentials of an API server, and the connections to it. */
import assert from "node:assert/strict";
import { join } from "node:path";
import { TestAuthority } from "../../triggers/delivery/certificates_testing.ts";
import { askCluster } from "../remote/ask_cluster.ts";
import { ApiAccess } from "./api_access.ts";

/** Takes callers with a certificate of its authority, and says whose it is. */
const SERVER = `
import http.server, ssl, sys
class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        name = dict(pair[0] for pair in self.connection.getpeercert()["subject"])["commonName"]
        self.send_response(200)
        self.send_header("content-length", str(len(name)))
        self.end_headers()
        self.wfile.write(name.encode())
    def log_message(self, *_):
        pass
server = http.server.HTTPServer(("127.0.0.1", 0), Handler)
context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
context.load_cert_chain(sys.argv[1], sys.argv[2])
context.load_verify_locations(sys.argv[3])
context.verify_mode = ssl.CERT_REQUIRED
server.socket = context.wrap_socket(server.socket, server_side=True)
print(server.server_port, flush=True)
server.serve_forever()
`;

async function withFolder(work: (folder: string) => Promise<void>): Promise<void> {
  const folder = await Deno.makeTempDir();
  try {
    await work(folder);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

const ask = (access: ApiAccess) => access.use((url, question) => askCluster(url, question));

Deno.test("ApiAccess shows the certificate of a client, the one that is in the files now", async () => {
  await withFolder(async (folder) => {
    const authority = new TestAuthority();
    const file = (name: string) => join(folder, name);
    const write = async (name: string, { cert, key }: { cert: string; key: string }) => {
      await Deno.writeTextFile(file(`${name}.crt`), cert);
      await Deno.writeTextFile(file(`${name}.key`), key);
    };
    await Deno.writeTextFile(file("ca.crt"), authority.cert);
    await write("server", authority.issue("localhost"));
    await write("client", authority.issue("the-cloud"));
    const server = new Deno.Command("python3", {
      args: ["-c", SERVER, ...["server.crt", "server.key", "ca.crt"].map(file)],
      stdout: "piped",
    }).spawn();
    const output = server.stdout.getReader();
    try {
      const port = new TextDecoder().decode((await output.read()).value).trim();
      const options = { server: `https://localhost:${port}`, caFile: file("ca.crt") };
      const [certFile, keyFile] = [file("client.crt"), file("client.key")];
      const access = new ApiAccess({ ...options, certFile, keyFile });
      assert.equal(await ask(access), "the-cloud");
      await write("client", authority.issue("renewed"));
      assert.equal(await ask(access), "renewed");
      await write("client", new TestAuthority().issue("a-stranger"));
      await assert.rejects(ask(access), { name: "ClusterAwayError" });
      await assert.rejects(ask(new ApiAccess(options)), { name: "ClusterAwayError" });
    } finally {
      await output.cancel();
      server.kill("SIGKILL");
      await server.status;
    }
  });
});

Deno.test("ApiAccess says nothing of a token that it cannot send", async () => {
  await withFolder(async (folder) => {
    const tokenFile = join(folder, "token");
    const access = new ApiAccess({ server: "http://127.0.0.1:9", tokenFile });
    for (const text of ["token: secret\nother: secret\n", "secr\u00e9t", "\n"]) {
      await Deno.writeTextFile(tokenFile, text);
      await assert.rejects(ask(access), ({ name, message }: Error) => {
        assert.equal(name, "ClusterAwayError");
        assert.match(message, /the file with the token/);
        assert.doesNotMatch(message, /secr/);
        return true;
      });
    }
  });
});

Deno.test("ApiAccess keeps no connections to a server that does not answer", async () => {
  const create = Deno.createHttpClient;
  const opened: Deno.HttpClient[] = [];
  let closed = 0;
  Deno.createHttpClient = (options) => {
    const client = create(options);
    const close = client.close.bind(client);
    client.close = () => {
      closed++;
      close();
    };
    opened.push(client);
    return client;
  };
  try {
    const access = new ApiAccess({ server: "http://127.0.0.1:9" });
    for (let attempt = 1; attempt <= 3; attempt++) await assert.rejects(ask(access));
    assert.deepEqual([opened.length, closed], [3, 3]);
  } finally {
    Deno.createHttpClient = create;
  }
});
