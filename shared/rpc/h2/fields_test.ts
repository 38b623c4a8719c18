import assert from "node:assert/strict";
import {
  fieldKind,
  type HeaderList,
  isAnswer,
  isRequest,
  isTrailers,
  withField,
} from "./fields.ts";

const REQUEST = [":method", "POST", ":scheme", "http", ":path", "/a"];

/** What a list may be: the letters of request, answer and trailers. */
function uses(headers: HeaderList): string {
  let kinds = 0;
  for (let n = 0; n < headers.length; n += 2) {
    kinds = withField(kinds, fieldKind(headers[n]!, headers[n + 1]!));
  }
  const { length } = headers;
  return length === 0 ? "" : [
    isRequest(kinds) && "r",
    isAnswer(kinds) && "a",
    isTrailers(kinds) && "t",
  ].filter(Boolean).join("");
}

Deno.test("lists of fields are requests, answers or trailers", () => {
  const cases: [HeaderList, string][] = [
    [REQUEST, "r"],
    [[...REQUEST, ":authority", "a", "te", "trailers", "x-bin", "AA", "a_b.c~|", "é"], "r"],
    [[":path", "/a", ":scheme", "https", ":method", "GET"], "r"],
    [[":method", "CONNECT", ":authority", "a"], "r"],
    [[":status", "200", "content-type", "application/grpc"], "a"],
    [["grpc-status", "0", "a", "", "a", "again"], "t"],
    [["content-length", "5"], "t"],
  ];
  for (const [headers, expected] of cases) assert.equal(uses(headers), expected, headers.join());
});

Deno.test("lists of fields that HTTP/2 forbids are nothing of it", () => {
  const cases: Record<string, HeaderList> = {
    "a method missing": REQUEST.slice(2),
    "a path missing": REQUEST.slice(0, 4),
    "a scheme missing": [":method", "POST", ":path", "/a"],
    "CONNECT with a path": [":method", "CONNECT", ":authority", "a", ":path", "/"],
    "CONNECT of nothing": [":method", "CONNECT"],
    "an empty path": [":method", "POST", ":scheme", "http", ":path", ""],
    "a method twice": [...REQUEST, ":method", "POST"],
    "a path twice": [...REQUEST, ":path", "/a"],
    "a status twice": [":status", "200", ":status", "200"],
    "a status in a request": [...REQUEST, ":status", "200"],
    "an unknown pseudo-header": [...REQUEST, ":protocol", "websocket"],
    "a pseudo-header of Object": [...REQUEST, ":constructor", "x"],
    "a pseudo-header after others": [":method", "POST", "a", "b", ":scheme", "http", ":path", "/"],
    "a capital letter": [...REQUEST, "Te", "trailers"],
    "a space in a name": [...REQUEST, "a b", "x"],
    "a colon in a name": [...REQUEST, "a:b", "x"],
    "a name beyond ASCII": [...REQUEST, "é", "x"],
    "no name": [...REQUEST, "", "x"],
    "a line break": [...REQUEST, "a", "x\r\nb: c"],
    "a NUL": [...REQUEST, "a", "x\0"],
    "a connection": [...REQUEST, "connection", "keep-alive"],
    "an upgrade": [...REQUEST, "upgrade", "h2c"],
    "chunks": [...REQUEST, "transfer-encoding", "chunked"],
    "TE of more": [...REQUEST, "te", "trailers, deflate"],
    "two lengths": [...REQUEST, "content-length", "1", "content-length", "1"],
  };
  for (const [what, headers] of Object.entries(cases)) assert.equal(uses(headers), "", what);
});
