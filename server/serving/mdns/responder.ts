/** From a question to the answers (RFC 6762, 6 and 7; RFC 6763, 12). Pure. */
import type { Answer, Question } from "dns-packet";
import { hostOf } from "./names.ts";
import {
  type Heard,
  isInternet,
  MDNS_PORT,
  type Said,
  sameName,
  sameRecord,
  type Sender,
  wantsUnicast,
} from "./mdns_message.ts";
import {
  addresses,
  type Instance,
  location,
  onlyAddresses,
  onlyService,
  pointer,
  properties,
  type ServedRecord,
  SERVICE,
  serviceName,
  SERVICES,
  servicesRecord,
} from "./records.ts";

/** Longest lifetime for resolvers that cannot receive a goodbye. Seconds; RFC 6762, 6.7. */
const LEGACY_TTL = 10;

/** One message to send. */
export interface Reply {
  readonly to: "group" | "sender";
  /** Others may answer the same question: to be sent after a random 20 to 120 ms. */
  readonly isShared: boolean;
  /** Somebody wants one of our names: the answer may not be held back. */
  readonly isDefence: boolean;
  readonly message: Said;
}

/**
 * What to say to a query. Each instance has a message of its own: there are dialers that read only
 * the first pointer of a message. What the asker knows already is left out.
 */
export function replies(
  query: Heard,
  sender: Sender,
  instances: readonly Instance[],
): Reply[] {
  const questions = (query.questions ?? []).filter(isInternet);
  const asked = instances.map((instance) => answersOf(instance, questions));
  const meta = questions.filter(({ name, type }) =>
    sameName(name, SERVICES) && matches(type, "PTR")
  );
  if (meta.length > 0 && instances.length > 0) {
    asked.unshift({ answers: [servicesRecord()], additionals: [], questions: meta });
  }
  return asked.flatMap(({ answers, additionals, questions }) => {
    const isKnown = (ours: ServedRecord) =>
      (query.answers ?? []).some((heard) => isFresh(heard, ours) && sameRecord(heard, ours));
    const left = answers.filter((answer) => !isKnown(answer));
    if (left.length === 0) return [];
    const more = additionals.filter((one) => !left.some((other) => isSame(one, other)));
    return [reply(query, sender, questions, left, more)];
  });
}

/** All that an announcement or a goodbye consists of: one message for each instance. */
export function unasked(records: readonly ServedRecord[][], kind: "alive" | "gone"): Said[] {
  return records.map((answers) => ({
    type: "response",
    answers: kind === "alive" ? answers : answers.map((record) => ({ ...record, ttl: 0 })),
  }));
}

interface Asked {
  readonly answers: ServedRecord[];
  readonly additionals: ServedRecord[];
  /** That led to them. */
  readonly questions: Question[];
}

function answersOf(instance: Instance, questions: readonly Question[]): Asked {
  const asked: Asked = { answers: [], additionals: [], questions: [] };
  for (const question of questions) {
    const found = answersTo(instance, question);
    if (!found) continue;
    asked.questions.push(question);
    for (const kind of ["answers", "additionals"] as const) {
      for (const record of found[kind]) {
        if (!asked[kind].some((other) => isSame(other, record))) asked[kind].push(record);
      }
    }
  }
  return asked;
}

function answersTo(
  instance: Instance,
  { name, type }: Question,
): Omit<Asked, "questions"> | undefined {
  const isHere = [location(instance), properties(instance)];
  const hosts = addresses(instance);
  if (sameName(name, SERVICE)) {
    if (!matches(type, "PTR")) return undefined;
    return { answers: [pointer(instance)], additionals: [...isHere, ...hosts] };
  }
  if (sameName(name, serviceName(instance.name))) {
    const answers = isHere.filter((record) => matches(type, record.type));
    if (answers.length === 0) return { answers: [onlyService(instance)], additionals: [] };
    const additionals = answers.some((record) => record.type === "SRV") ? hosts : [];
    return { answers, additionals };
  }
  if (sameName(name, hostOf(instance.name))) {
    const answers = hosts.filter((record) => matches(type, record.type));
    if (answers.length === 0) return { answers: [onlyAddresses(instance)], additionals: [] };
    return { answers, additionals: [...hosts, onlyAddresses(instance)] };
  }
}

function reply(
  query: Heard,
  sender: Sender,
  questions: Question[],
  answers: ServedRecord[],
  additionals: ServedRecord[],
): Reply {
  const isShared = answers.some(({ type }) => type === "PTR");
  const isDefence = (query.authorities ?? []).length > 0;
  if (sender.port !== MDNS_PORT) {
    const message: Said = {
      type: "response",
      id: query.id ?? 0,
      questions: questions.map(({ name, type }) => ({ name, type })),
      answers: answers.map(forLegacy),
      additionals: additionals.map(forLegacy),
    };
    return { to: "sender", isShared: false, isDefence, message };
  }
  const to = questions.every(wantsUnicast) ? "sender" : "group";
  return { to, isShared, isDefence, message: { type: "response", answers, additionals } };
}

function forLegacy(record: ServedRecord): ServedRecord {
  return { ...record, flush: false, ttl: Math.min(record.ttl ?? 0, LEGACY_TTL) };
}

function matches(asked: string, type: string): boolean {
  return asked === "ANY" || asked === type;
}

/** Asked again before half of its lifetime is over, a record need not be sent (RFC 6762, 7.1). */
function isFresh(heard: Answer, ours: ServedRecord): boolean {
  return heard.type !== "OPT" && (heard.ttl ?? 0) * 2 >= (ours.ttl ?? 0);
}

/** Of records of one instance: only addresses are several of a kind. */
function isSame(a: ServedRecord, b: ServedRecord): boolean {
  if (a.type !== b.type || a.name !== b.name) return false;
  return a.data === b.data || (a.type !== "A" && a.type !== "AAAA");
}
