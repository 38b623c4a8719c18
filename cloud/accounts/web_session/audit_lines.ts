import type { AuditLog, AuditRow } from "../audit/audit_log.ts";
import { HOW_TO_SIGN_IN, type HttpCallers, type HttpSender } from "../access/http_callers.ts";

const PAGE = 1_000;

/**
 * `GET /account/audit.jsonl?organization_id=ID`, with `start` and `end` in RFC 3339: the audit log of
 * an organisation as JSON lines, newest first, for its owners. It is read as fast as it is taken.
 */
export async function auditLines(
  { http, audit }: { readonly http: HttpCallers; readonly audit: AuditLog },
  url: URL,
  sender: HttpSender,
): Promise<Response> {
  const access = await http.accessOf(sender);
  if (access.kind === "none") return problem(401, HOW_TO_SIGN_IN);
  if (access.kind === "refused") return problem(access.status, access.error);
  const { scope } = access;
  const { id: orgId } = await scope.organization(
    url.searchParams.get("organization_id") ?? "",
    "manage",
  );
  const times: (number | undefined)[] = [];
  for (const name of ["start", "end"]) {
    const text = url.searchParams.get(name);
    const ms = text === null ? undefined : Date.parse(text);
    if (ms !== undefined && Number.isNaN(ms)) return problem(400, `${name}: it is no time`);
    times.push(ms);
  }
  const [startMs, endMs] = times;
  let token = "";
  const body = new ReadableStream<Uint8Array>({
    async pull(controller) {
      const { rows, next } = await audit.page({ orgId, startMs, endMs }, { size: PAGE, token });
      controller.enqueue(new TextEncoder().encode(rows.map(line).join("")));
      token = next;
      if (next === "") controller.close();
    },
  });
  return new Response(body, {
    headers: {
      "content-type": "application/jsonl",
      "content-disposition": 'attachment; filename="audit.jsonl"',
      "cache-control": "no-store",
    },
  });
}

function line(row: AuditRow): string {
  const { seq: id, at, org_id, target, ...rest } = row;
  const time = new Date(at).toISOString();
  const entry = { id, time, organization_id: org_id, ...rest, target: JSON.parse(target) };
  return `${JSON.stringify(entry)}\n`;
}

function problem(status: number, error: string): Response {
  return Response.json({ error }, { status });
}
