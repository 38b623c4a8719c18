import assert from "node:assert/strict";
import { parsePostgresAddress, PostgresAddressError } from "./address.ts";

const read = (text: string) => parsePostgresAddress(text, "/data");

Deno.test("parsePostgresAddress() reads an address, and shows it without its password", () => {
  const address = read("postgres://me:s%40fe@db.example:6000/cloud?pool=20&schema=mine");
  const { host, port, user, password, database, schema, pool, tls, shown } = address;
  assert.deepEqual({ host, port, user, password, database, schema, pool }, {
    ...{ host: "db.example", port: 6000, user: "me", password: "s@fe", database: "cloud" },
    ...{ schema: "mine", pool: 20 },
  });
  assert.equal(tls.mode, "verify-full");
  assert.equal(shown, "postgres://me@db.example:6000/cloud?pool=20&schema=mine");
  const socket = read("postgres:///cloud?host=/run/postgresql");
  assert.deepEqual([socket.host, socket.port, socket.user], ["/run/postgresql", 5432, undefined]);
  for (const host of ["localhost", "127.0.0.1", "[::1]"]) {
    assert.equal(read(`postgres://${host}/a`).tls.mode, "disable");
  }
  assert.equal(read("postgres://db/a?sslmode=require").tls.mode, "require");
});

Deno.test("parsePostgresAddress() puts a name of the data folder where the address has a place", () => {
  const schema = (dataDir: string) =>
    parsePostgresAddress("postgres://h/d?schema=c_{folder}", dataDir).schema;
  assert.match(schema("/a"), /^c_[0-9a-f]{16}$/);
  assert.notEqual(schema("/a"), schema("/b"));
});

Deno.test("parsePostgresAddress() says what is wrong, without the password", () => {
  const cases: [text: string, message: RegExp][] = [
    ["mysql://h/d", /write postgres:\/\//],
    ["postgres://h", /names no database/],
    ["postgres://h/d?sslmod=disable", /no parameter "sslmod"; there are host/],
    ["postgres://h/d?sslmode=prefer", /sslmode=prefer is none of disable, require/],
    ["postgres://h/d?sslcert=a", /sslcert and sslkey go together/],
    ["postgres://h/d?pool=1", /pool=1 is no number from 2 to 500/],
    ["postgres://h/d?schema=A-b", /schema=A-b is no name/],
    ["postgres://h/d?statement_timeout=1s", /statement_timeout=1s is no number/],
  ];
  for (const [text, message] of cases) {
    const withPassword = text.replace("://", "://me:secret@");
    assert.throws(() => read(withPassword), (error) => {
      assert.ok(error instanceof PostgresAddressError);
      assert.match(error.message, message);
      assert.doesNotMatch(error.message, /secret/);
      return true;
    });
  }
});
