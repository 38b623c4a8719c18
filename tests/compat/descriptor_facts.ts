import {
  type DescriptorProto,
  type EnumDescriptorProto,
  type FieldDescriptorProto,
  FieldDescriptorProto_Label,
  FieldDescriptorProto_Type,
  type FileDescriptorProto,
  type ServiceDescriptorProto,
} from "@bufbuild/protobuf/wkt";

/** What a wire contract says, one fact a line: `kind full.name` → what it is. */
export type DescriptorFacts = ReadonlyMap<string, string>;

/** What two sets of descriptors do not agree on. */
export interface DescriptorComparison {
  /** Facts both have that differ, and members that ours lacks inside a type that both have. */
  differences: string[];
  /** Services, messages, enums and extensions that only theirs has. */
  missing: string[];
  /** How many facts both have. */
  compared: number;
}

/** Number of the option `viam.common.v1.safety_heartbeat_monitored` on a method. */
const SAFETY_HEARTBEAT_MONITORED = 84260;

/**
 * Lists all facts of the files that matter on the wire or in JSON: messages, fields (number, type,
 * label, presence, oneof, JSON name), enum values, methods (types, streaming, safety option).
 */
export function collectFacts(files: Iterable<FileDescriptorProto>): DescriptorFacts {
  const facts = new Map<string, string>();
  for (const file of files) {
    for (const message of file.messageType) addMessage(facts, file.package, message);
    for (const enumeration of file.enumType) addEnum(facts, file.package, enumeration);
    for (const service of file.service) addService(facts, file.package, service);
    for (const extension of file.extension) {
      facts.set(
        `extension ${file.package}.${extension.name}`,
        `extends ${extension.extendee} ${describeField(extension, undefined)}`,
      );
    }
  }
  return facts;
}

/**
 * Compares our facts with theirs. A type that only one side has is no difference; a member that
 * only theirs has, in a type that both have, is one.
 */
export function compareFacts(ours: DescriptorFacts, theirs: DescriptorFacts): DescriptorComparison {
  const result: DescriptorComparison = { differences: [], missing: [], compared: 0 };
  for (const [key, their] of theirs) {
    const our = ours.get(key);
    if (our === their) {
      result.compared++;
    } else if (our !== undefined) {
      result.differences.push(`${key}: ours is "${our}", theirs is "${their}"`);
    } else if (isMember(key) && ours.has(ownerOf(key))) {
      result.differences.push(`${key}: not here, theirs is "${their}"`);
    } else if (!isMember(key)) {
      result.missing.push(key);
    }
  }
  return result;
}

const OWNER_KIND: Readonly<Record<string, string>> = {
  field: "message",
  value: "enum",
  method: "service",
};

function isMember(key: string): boolean {
  return OWNER_KIND[kindOf(key)] !== undefined;
}

function ownerOf(key: string): string {
  const name = key.slice(key.indexOf(" ") + 1);
  return `${OWNER_KIND[kindOf(key)]} ${name.slice(0, name.lastIndexOf("."))}`;
}

function kindOf(key: string): string {
  return key.slice(0, key.indexOf(" "));
}

function addMessage(facts: Map<string, string>, scope: string, message: DescriptorProto): void {
  const name = `${scope}.${message.name}`;
  facts.set(`message ${name}`, message.options?.mapEntry ? "map entry" : "message");
  for (const field of message.field) {
    // The oneof that proto3 makes up for each optional field is no oneof of the author's.
    const oneof = isSet(field, "oneofIndex") && !field.proto3Optional
      ? message.oneofDecl[field.oneofIndex]?.name
      : undefined;
    facts.set(`field ${name}.${field.name}`, describeField(field, oneof));
  }
  for (const nested of message.nestedType) addMessage(facts, name, nested);
  for (const enumeration of message.enumType) addEnum(facts, name, enumeration);
}

/** Whether a proto2 field was given: unset ones read as defaults from the prototype. */
function isSet<M extends object>(message: M, field: keyof M): boolean {
  return Object.hasOwn(message, field);
}

function describeField(field: FieldDescriptorProto, oneof: string | undefined): string {
  const words = [`= ${field.number}`];
  if (field.label === FieldDescriptorProto_Label.REPEATED) words.push("repeated");
  if (field.proto3Optional) words.push("optional");
  words.push(FieldDescriptorProto_Type[field.type].toLowerCase());
  if (field.typeName !== "") words.push(field.typeName);
  if (oneof !== undefined) words.push(`in oneof ${oneof}`);
  // proto3 packs repeated numbers unless configured not to, so only "not" changes the wire.
  if (field.options !== undefined && isSet(field.options, "packed") && !field.options.packed) {
    words.push("unpacked");
  }
  const jsonName = field.jsonName || defaultJsonName(field.name);
  if (jsonName !== defaultJsonName(field.name)) words.push(`json ${jsonName}`);
  return words.join(" ");
}

function defaultJsonName(name: string): string {
  return name.replaceAll(/_+(.?)/g, (_, letter: string) => letter.toUpperCase());
}

function addEnum(facts: Map<string, string>, scope: string, desc: EnumDescriptorProto): void {
  const name = `${scope}.${desc.name}`;
  facts.set(`enum ${name}`, desc.options?.allowAlias ? "enum with aliases" : "enum");
  for (const value of desc.value) facts.set(`value ${name}.${value.name}`, `= ${value.number}`);
}

function addService(facts: Map<string, string>, scope: string, desc: ServiceDescriptorProto): void {
  const name = `${scope}.${desc.name}`;
  facts.set(`service ${name}`, "service");
  for (const method of desc.method) {
    const input = `${method.clientStreaming ? "stream " : ""}${method.inputType}`;
    const output = `${method.serverStreaming ? "stream " : ""}${method.outputType}`;
    const watched = method.options?.$unknown?.some((field) =>
        field.no === SAFETY_HEARTBEAT_MONITORED && field.data[0] === 1
      )
      ? " safety heartbeat monitored"
      : "";
    facts.set(`method ${name}.${method.name}`, `(${input}) returns (${output})${watched}`);
  }
}
