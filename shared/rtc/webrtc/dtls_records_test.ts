import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { randomBytes } from "node:crypto";
import { DtlsRecords } from "./dtls_records.ts";

Deno.test("DtlsRecords opens what the other end sealed, and nothing that was changed", () => {
  const key = () => ({ key: randomBytes(16), salt: randomBytes(4) });
  const [one, two] = [key(), key()];
  const ours = new DtlsRecords({ write: one, read: two });
  const theirs = new DtlsRecords({ write: two, read: one });
  for (const length of [0, 1, 15, 16, 17, 1_200, 16_000]) {
    const content = randomBytes(length);
    const record = ours.seal(23, content);
    assert.equal(record.readUInt16BE(11), record.length - 13);
    assert.deepEqual(theirs.open(record), content);
    assert.equal(ours.open(record), undefined, "one's own keys open nothing of one's own");
    for (let at = 0; at < record.length; at += Math.ceil(record.length / 40)) {
      const changed = Buffer.from(record);
      // The length is not part of it: it is where the record is cut out.
      if (at === 11 || at === 12) continue;
      changed[at]! ^= 1;
      assert.equal(theirs.open(changed), undefined, `byte ${at}`);
    }
  }
  for (const length of [0, 13, 36]) assert.equal(theirs.open(Buffer.alloc(length)), undefined);
});

Deno.test("DtlsRecords uses no number twice", () => {
  const key = { key: randomBytes(16), salt: randomBytes(4) };
  const records = new DtlsRecords({ write: key, read: key });
  const numbers = Array.from(
    { length: 100 },
    () => records.seal(23, randomBytes(1)).toString("hex", 3, 11),
  );
  assert.equal(new Set(numbers).size, 100);
});
