/**
 * What generated code makes the descriptors of files, messages and services with. Each is decoded
 * when something of it is first looked at: programs import many more than they use, and decoding
 * all of them took a quarter of a start, and memory.
 *
 * The library's own code decodes whole files: what a decoded descriptor refers to is the library's.
 * Compare descriptors by `typeName`.
 */
import type {
  DescEnum,
  DescExtension,
  DescFile,
  DescMessage,
  DescService,
} from "@bufbuild/protobuf";
import * as library from "@bufbuild/protobuf/codegenv2";

type Descriptor = DescFile | DescMessage | DescEnum | DescService | DescExtension;

/** Takes on the fields of the decoded descriptor with the first look at one of them. */
class LaterDescriptor {
  readonly #decode: () => Descriptor;
  #decoded: Descriptor | undefined;

  /** @param known what is known without decoding */
  constructor(decode: () => Descriptor, known: Partial<Descriptor>) {
    this.#decode = decode;
    for (const [key, value] of Object.entries(known)) {
      Object.defineProperty(this, key, { value, enumerable: true });
    }
  }

  /** The library's. */
  get decoded(): Descriptor {
    if (this.#decoded) return this.#decoded;
    const decoded = this.#decoded = this.#decode();
    const fields = Object.entries(Object.getOwnPropertyDescriptors(decoded));
    for (const [key, field] of fields) {
      if (!Object.hasOwn(this, key)) Object.defineProperty(this, key, field);
    }
    return decoded;
  }
}

const FIELDS = [
  ...["name", "typeName", "file", "parent", "proto", "deprecated", "toString"],
  ...["edition", "dependencies", "messages", "enums", "services", "extensions"],
  ...["fields", "field", "oneofs", "members", "nestedMessages", "nestedEnums", "nestedExtensions"],
  ...["open", "value", "values", "sharedPrefix", "method", "methods"],
  ...["extendee", "number", "jsonName", "presence", "oneof", "fieldKind", "scalar", "message"],
  ...["enum", "listKind", "packed", "longAsString", "delimitedEncoding", "getDefaultValue"],
  "utf8Validation",
];

for (const key of FIELDS) {
  Object.defineProperty(LaterDescriptor.prototype, key, {
    get(this: LaterDescriptor): unknown {
      return this.decoded[key as keyof Descriptor];
    },
  });
}

// deno-lint-ignore no-explicit-any -- generated code says which of the library's types it is
function later(known: Partial<Descriptor>, decode: () => Descriptor): any {
  return new LaterDescriptor(decode, known);
}

function decoded(file: DescFile): DescFile {
  return file instanceof LaterDescriptor ? file.decoded as DescFile : file;
}

/** A file, with those that it imports. */
export const fileDesc: typeof library.fileDesc = (base64, imports) =>
  later({ kind: "file" }, () => library.fileDesc(base64, imports?.map(decoded)));

/** A message, by its place in the file. */
export const messageDesc: typeof library.messageDesc = (file, ...path) =>
  later({ kind: "message" }, () => library.messageDesc(decoded(file), ...path));

/** An enum, by its place in the file. */
export const enumDesc: typeof library.enumDesc = (file, ...path) =>
  later({ kind: "enum" }, () => library.enumDesc(decoded(file), ...path));

/** An extension, by its place in the file. */
export const extDesc: typeof library.extDesc = (file, ...path) =>
  later({ kind: "extension" }, () => library.extDesc(decoded(file), ...path));

/** A service, by its place in the file; its name is known without decoding. */
export const serviceDesc = <T extends library.GenServiceMethods>(
  file: DescFile,
  index: number,
  typeName: string,
): library.GenService<T> =>
  later({ kind: "service", typeName }, () => library.serviceDesc(decoded(file), index));
