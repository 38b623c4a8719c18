/** The text as UTF-8; half a surrogate pair becomes U+FFFD. */
export function utf8(text: string): Uint8Array {
  let length = 0;
  for (let i = 0; i < text.length; i++) {
    const unit = text.charCodeAt(i);
    if (unit < 0x80) length += 1;
    else if (unit < 0x800) length += 2;
    else if (unit >= 0xd800 && unit < 0xdc00 && isLow(text.charCodeAt(i + 1))) length += 4, i++;
    else length += 3;
  }
  const out = new Uint8Array(length);
  let at = 0;
  for (let i = 0; i < text.length; i++) {
    const unit = text.charCodeAt(i);
    if (unit < 0x80) {
      out[at++] = unit;
      continue;
    }
    if (unit < 0x800) {
      out[at++] = 0xc0 | unit >> 6;
    } else {
      let point = unit;
      if (unit >= 0xd800 && unit < 0xe000) {
        const low = text.charCodeAt(i + 1);
        if (unit < 0xdc00 && isLow(low)) {
          point = 0x10000 + ((unit - 0xd800) << 10) + (low - 0xdc00);
          i++;
          out[at++] = 0xf0 | point >> 18;
          out[at++] = 0x80 | point >> 12 & 0x3f;
        } else {
          point = 0xfffd;
          out[at++] = 0xe0 | point >> 12;
        }
      } else {
        out[at++] = 0xe0 | point >> 12;
      }
      out[at++] = 0x80 | point >> 6 & 0x3f;
      out[at++] = 0x80 | point & 0x3f;
      continue;
    }
    out[at++] = 0x80 | unit & 0x3f;
  }
  return out;
}

function isLow(unit: number): boolean {
  return unit >= 0xdc00 && unit < 0xe000;
}

/** The text of UTF-8 bytes; what is not UTF-8 becomes U+FFFD, byte by byte. */
export function fromUtf8(bytes: Uint8Array): string {
  let text = "";
  let codes: number[] = [];
  for (let i = 0; i < bytes.length;) {
    const first = bytes[i] ?? 0;
    let point = first;
    let size = 1;
    if (first >= 0x80) {
      size = first >= 0xf0 && first < 0xf5 ? 4 : first >= 0xe0 ? 3 : first >= 0xc2 ? 2 : 0;
      if (first >= 0xf5) size = 0;
      point = size === 4 ? first & 7 : size === 3 ? first & 15 : first & 31;
      for (let k = 1; k < size; k++) {
        const next = bytes[i + k] ?? 0;
        if ((next & 0xc0) !== 0x80) size = 0;
        else point = point << 6 | next & 0x3f;
      }
      const overlong = size === 3 && point < 0x800 || size === 4 && point < 0x10000;
      if (size === 0 || overlong || point > 0x10ffff || point >= 0xd800 && point < 0xe000) {
        point = 0xfffd;
        size = 1;
      }
    }
    i += size;
    if (point > 0xffff) {
      codes.push(0xd800 + (point - 0x10000 >> 10), 0xdc00 + (point - 0x10000 & 0x3ff));
    } else codes.push(point);
    if (codes.length > 500) {
      text += String.fromCharCode(...codes);
      codes = [];
    }
  }
  return text + String.fromCharCode(...codes);
}
