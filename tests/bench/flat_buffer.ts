/** A field of a table: a number of 1 or 4 bytes, or what stands elsewhere in the buffer. */
export type Field = { readonly bytes: 1 | 4; readonly value: number } | { readonly at: number };

/** Writes a FlatBuffer from its end to its start; places are counted from the end. */
export class FlatBuffer {
  readonly #bytes: Uint8Array<ArrayBuffer>;
  readonly #view: DataView;
  #start: number;

  constructor(capacity: number) {
    this.#bytes = new Uint8Array(capacity);
    this.#view = new DataView(this.#bytes.buffer);
    this.#start = capacity;
  }

  blob(data: Uint8Array): number {
    this.#align(data.length, 16);
    this.#start -= data.length;
    this.#bytes.set(data, this.#start);
    return this.#number(data.length);
  }

  text(text: string): number {
    const bytes = new TextEncoder().encode(text);
    this.#align(bytes.length + 1, 4);
    this.#start -= bytes.length + 1; // A zero, which is no part of it, ends a text.
    this.#bytes.set(bytes, this.#start);
    return this.#number(bytes.length);
  }

  numbers(values: readonly number[]): number {
    this.#align(0, 4);
    for (const value of values.toReversed()) this.#number(value);
    return this.#number(values.length);
  }

  places(places: readonly number[]): number {
    this.#align(0, 4);
    for (const place of places.toReversed()) this.#offset(place);
    return this.#number(places.length);
  }

  table(fields: readonly (Field | undefined)[]): number {
    this.#align(0, 4);
    const end = this.#place;
    const places = fields.map((field) => {
      if (!field) return 0;
      if ("at" in field) return this.#offset(field.at);
      return this.#number(field.value); // One of a byte has it first, as numbers are little-endian.
    });
    this.#number(0); // Takes the distance to the table of fields.
    const table = this.#place;
    const lengths = [4 + fields.length * 2, table - end];
    const entries = [...lengths, ...places.map((place) => place === 0 ? 0 : table - place)];
    if (entries.length % 2 === 1) entries.push(0);
    this.#start -= entries.length * 2;
    entries.forEach((value, index) => this.#view.setUint16(this.#start + index * 2, value, true));
    this.#view.setInt32(this.#bytes.length - table, this.#place - table, true);
    return table;
  }

  /** @param mark four characters that say what it is. */
  finish(root: number, mark: string): Uint8Array<ArrayBuffer> {
    this.#align(8, 16);
    this.#start -= 4;
    this.#bytes.set(new TextEncoder().encode(mark), this.#start);
    this.#offset(root);
    return this.#bytes.slice(this.#start);
  }

  get #place(): number {
    return this.#bytes.length - this.#start;
  }

  #align(ahead: number, to: number): void {
    while ((this.#place + ahead) % to !== 0) this.#start--;
  }

  #number(value: number): number {
    this.#start -= 4;
    this.#view.setInt32(this.#start, value, true);
    return this.#place;
  }

  #offset(place: number): number {
    return this.#number(this.#place + 4 - place);
  }
}
