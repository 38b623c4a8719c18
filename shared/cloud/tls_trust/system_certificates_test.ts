import assert from "node:assert/strict";
import { join } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { trustSystemCertificates } from "./system_certificates.ts";

const HERE = import.meta.url;

function trust(variables: Record<string, string>): { stores: string | undefined; said: string[] } {
  const env = new Map(Object.entries(variables));
  const said: string[] = [];
  trustSystemCertificates((line) => said.push(line), env);
  return { stores: env.get("DENO_TLS_CA_STORE"), said };
}

Deno.test("trustSystemCertificates() trusts the system's store beside the built-in one", () => {
  assert.deepEqual(trust({}), { stores: "system,mozilla", said: [] });
});

Deno.test("a process trusts the authority in SSL_CERT_FILE, also one of its own", async () => {
  const read = (name: string) => Deno.readTextFile(new URL(`../../rpc/testdata/${name}`, HERE));
  await using server = Deno.serve(
    {
      ...{ hostname: "127.0.0.1", port: 0, onListen: () => {} },
      ...{ cert: await read("cert.pem"), key: await read("key.pem") },
    },
    () => new Response("served"),
  );
  const source = `import { trustSystemCertificates } from "./system_certificates.ts";
    if (Deno.args[1] === "trust") trustSystemCertificates(console.error);
    console.log(await fetch(Deno.args[0]).then((got) => got.text(), (error) => error.message));`;
  const ask = async (how: string) => {
    const { stdout } = await new Deno.Command(Deno.execPath(), {
      args: ["eval", "--no-check", source, `https://localhost:${server.addr.port}`, how],
      cwd: import.meta.dirname ?? "",
      env: { SSL_CERT_FILE: fileURLToPath(new URL("../../rpc/testdata/ca.pem", HERE)) },
    }).output();
    return new TextDecoder().decode(stdout).trim();
  };
  const before = process.env.DENO_TLS_CA_STORE;
  delete process.env.DENO_TLS_CA_STORE;
  try {
    assert.equal(await ask("trust"), "served");
    assert.match(await ask("-"), /failed|error sending request/);
  } finally {
    if (before !== undefined) process.env.DENO_TLS_CA_STORE = before;
  }
});

Deno.test("trustSystemCertificates() leaves what somebody said", () => {
  const { stores, said } = trust({ DENO_TLS_CA_STORE: "mozilla", SSL_CERT_FILE: "/nowhere" });
  assert.deepEqual([stores, said], ["mozilla", []]);
});

for (const name of ["SSL_CERT_FILE", "SSL_CERT_DIR"]) {
  Deno.test(`trustSystemCertificates() says when ${name} names nothing`, () => {
    const path = join(import.meta.dirname ?? "", "nowhere");
    const { stores, said } = trust({ [name]: path });
    assert.equal(stores, undefined);
    assert.equal(said.length, 1);
    assert.ok(said[0]?.startsWith(`${name} names ${path}, which cannot be read: `), `${said}`);
  });
}
