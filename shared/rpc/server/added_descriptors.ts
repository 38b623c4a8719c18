/** The file of a service, with methods that another text of the service has. */
import {
  clone,
  create,
  createFileRegistry,
  createRegistry,
  type DescEnum,
  type DescFile,
  type DescMessage,
  type DescMethod,
} from "@bufbuild/protobuf";
import { type FileDescriptorProto, FileDescriptorProtoSchema } from "@bufbuild/protobuf/wkt";

type DescType = DescMessage | DescEnum;

/** Files by their name with `.proto`, imports included. What `roots` name first counts. */
export function collectFiles(roots: readonly DescFile[]): Map<string, DescFile> {
  const files = new Map<string, DescFile>();
  const visit = (file: DescFile) => {
    const name = file.proto.name;
    if (files.has(name)) return;
    files.set(name, file);
    for (const dependency of file.dependencies) visit(dependency);
  };
  for (const file of roots) visit(file);
  return files;
}

/**
 * `file` with methods added to its services, and with the types that only the other text has. Types
 * that both texts have stay as `file` has them. A method that cannot be described so is left out.
 */
export function withMethods(file: DescFile, added: readonly DescMethod[]): DescFile {
  return added.reduce((file, method) => {
    const service = file.services.find(({ typeName }) => typeName === method.parent.typeName);
    if (!service || service.methods.some(({ name }) => name === method.name)) return file;
    try {
      return new Addition(file, method).linked();
    } catch (error) {
      // It is another module's text: what it names may clash with what is known of it here.
      if (error instanceof Error) return file;
      throw error;
    }
  }, file);
}

/** One method that is added to a file. */
class Addition {
  readonly #merged: FileDescriptorProto;
  /** What the file reaches. */
  readonly #known: Map<string, DescFile>;
  readonly #registry: ReturnType<typeof createRegistry>;
  /** What is left of other files without the types that are known. */
  readonly #parts = new Map<DescFile, FileDescriptorProto>();
  /** Names of the files that the types now stand in. */
  readonly #placed = new Map<string, string>();

  constructor(file: DescFile, private readonly method: DescMethod) {
    this.#merged = clone(FileDescriptorProtoSchema, file.proto);
    this.#known = collectFiles([file]);
    this.#registry = createRegistry(...this.#known.values());
    const { parent, proto, input, output } = method;
    const service = this.#merged.service.find(({ name }) => name === parent.proto.name);
    service?.method.push(proto);
    for (const type of [input, output]) this.#require(type, this.#merged);
  }

  /** @throws Error when it cannot be linked. */
  linked(): DescFile {
    const parts = new Map([...this.#parts.values()].map((part) => [part.name, part]));
    const resolve = (name: string) => parts.get(name) ?? this.#known.get(name);
    const found = createFileRegistry(this.#merged, resolve).getFile(this.#merged.name);
    if (!found) throw new Error(`${this.#merged.name} was not linked`);
    return found;
  }

  /** Has a file import what a type stands in. */
  #require(type: DescType, by: FileDescriptorProto): void {
    const name = this.#place(outermost(type));
    if (name === by.name || by.dependency.includes(name)) return;
    if (name === this.#merged.name) throw new Error(`${by.name} and ${name} need one another`);
    by.dependency.push(name);
  }

  /** @returns the name of its file. */
  #place(type: DescType): string {
    const known = this.#registry.get(type.typeName);
    if (known) return known.file.proto.name;
    const placed = this.#placed.get(type.typeName);
    if (placed !== undefined) return placed;
    const file = this.#fileFor(type.file);
    this.#placed.set(type.typeName, file.name);
    if (type.kind === "enum") file.enumType.push(type.proto);
    else {
      file.messageType.push(type.proto);
      for (const used of typesIn(type)) this.#require(used, file);
    }
    return file.name;
  }

  #fileFor(file: DescFile): FileDescriptorProto {
    const { name, package: of, syntax, edition, options } = file.proto;
    const isAlike = syntax === this.#merged.syntax && edition === this.#merged.edition;
    if (file === this.method.parent.file && isAlike) return this.#merged;
    let part = this.#parts.get(file);
    if (!part) {
      const free = this.#known.has(name) ? `added/${this.method.name}/${name}` : name;
      part = create(FileDescriptorProtoSchema, { name: free, package: of, syntax, edition });
      if (options) part.options = options;
      this.#parts.set(file, part);
    }
    return part;
  }
}

function outermost(type: DescType): DescType {
  return type.parent ? outermost(type.parent) : type;
}

/** The types of a message's fields, and of the messages in it. */
function typesIn(message: DescMessage): DescType[] {
  return [
    ...message.fields.flatMap((field) => [field.message, field.enum]).filter((type) =>
      type !== undefined
    ),
    ...message.nestedMessages.flatMap(typesIn),
  ];
}
