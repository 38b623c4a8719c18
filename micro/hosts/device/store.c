// Values by key in two banks of the flash chip. The bank with the higher generation counts. It is a
// row of records, the last one of a key counts; one that is full is copied to the other bank, without
// what is old, whose header is written last. So at every moment there is the old or the new value.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../native/platform.h"
#include "chip.h"
#include "device.h"
#include "layout.h"

#define BANK_MAGIC 0x314b4e42u
#define RECORD_MAGIC 0x31434552u
#define MOST_KEYS 48
#define MOST_KEY 31
#define COPIED_AT_ONCE 512u
#define ALIGNED(size) (((size) + 3u) & ~3u)
/** Of a record that says that its key has no value. */
#define REMOVED 0xffffffffu

typedef struct {
  uint32_t magic, generation, crc;
} bank_header;

/** After it the value. The checksum is of all that follows it and the value. */
typedef struct {
  uint32_t magic, crc, length;
  char key[MOST_KEY + 1];
} record;

typedef struct {
  char key[MOST_KEY + 1];
  /** Of the record. */
  uint32_t at, length;
} entry;

static entry entries[MOST_KEYS];
static int entry_count;
static uint32_t bank, generation, end;

static const char NO_CHIP[] = "the flash chip does not answer";
static const char NO_ROOM[] = "there is no room left in flash";

static uint32_t bank_at(uint32_t which) {
  return CHIP_STORE + which * CHIP_STORE_BANK;
}

static uint32_t size_of(uint32_t length) {
  return sizeof(record) + ALIGNED(length == REMOVED ? 0 : length);
}

static entry *find(const char *key) {
  for (int i = 0; i < entry_count; i++) {
    if (strcmp(entries[i].key, key) == 0) return &entries[i];
  }
  return NULL;
}

static void note(const record *of, uint32_t at) {
  entry *known = find(of->key);
  if (of->length == REMOVED) {
    if (known) *known = entries[--entry_count];
    return;
  }
  if (!known) {
    if (entry_count == MOST_KEYS) return;
    known = &entries[entry_count++];
    strcpy(known->key, of->key);
  }
  known->at = at;
  known->length = of->length;
}

static uint32_t crc_of(const record *of) {
  return chip_crc(0, &of->length, sizeof *of - offsetof(record, length));
}

// Whether there is a record that was written to its end.
static bool read_record(uint32_t at, record *into) {
  uint32_t room = bank_at(bank) + CHIP_STORE_BANK - at;
  if (room < sizeof *into || !chip_read(at, into, sizeof *into) || into->magic != RECORD_MAGIC) {
    return false;
  }
  if (into->length != REMOVED && into->length > room - sizeof *into) return false;
  if (!memchr(into->key, '\0', sizeof into->key)) return false;
  uint32_t crc = crc_of(into);
  uint8_t bytes[COPIED_AT_ONCE];
  uint32_t left = into->length == REMOVED ? 0 : into->length;
  for (uint32_t place = at + sizeof *into; left > 0;) {
    uint32_t size = left < sizeof bytes ? left : sizeof bytes;
    if (!chip_read(place, bytes, size)) return false;
    crc = chip_crc(crc, bytes, size);
    place += size;
    left -= size;
  }
  return crc == into->crc;
}

static bool is_erased(uint32_t at, uint32_t until) {
  uint8_t bytes[COPIED_AT_ONCE];
  while (at < until) {
    uint32_t size = until - at < sizeof bytes ? until - at : sizeof bytes;
    if (!chip_read(at, bytes, size)) return false;
    for (uint32_t i = 0; i < size; i++) {
      if (bytes[i] != 0xff) return false;
    }
    at += size;
  }
  return true;
}

static bool bank_generation(uint32_t which, uint32_t *found) {
  bank_header header;
  if (!chip_read(bank_at(which), &header, sizeof header) || header.magic != BANK_MAGIC) return false;
  *found = header.generation;
  return header.crc == chip_crc(0, &header, offsetof(bank_header, crc));
}

static bool copy(uint32_t from, uint32_t to, uint32_t size) {
  uint8_t bytes[COPIED_AT_ONCE];
  for (uint32_t done = 0; done < size; done += sizeof bytes) {
    uint32_t part = size - done < sizeof bytes ? size - done : sizeof bytes;
    if (!chip_read(from + done, bytes, part) || !chip_program(to + done, bytes, part)) return false;
  }
  return true;
}

// Goes over to the other bank with what counts.
static const char *change_bank(void) {
  uint32_t other = 1 - bank, at = bank_at(other) + sizeof(bank_header);
  uint32_t places[MOST_KEYS];
  if (!chip_erase(bank_at(other), CHIP_STORE_BANK)) return NO_CHIP;
  for (int i = 0; i < entry_count; i++) {
    uint32_t size = size_of(entries[i].length);
    if (!copy(entries[i].at, at, size)) return NO_CHIP;
    places[i] = at;
    at += size;
  }
  bank_header header = {BANK_MAGIC, generation + 1, 0};
  header.crc = chip_crc(0, &header, offsetof(bank_header, crc));
  if (!chip_program(bank_at(other), &header, sizeof header)) return NO_CHIP;
  bank = other;
  generation++;
  end = at;
  for (int i = 0; i < entry_count; i++) entries[i].at = places[i];
  return NULL;
}

const char *store_open(void) {
  uint32_t generations[2];
  bool there[] = {bank_generation(0, &generations[0]), bank_generation(1, &generations[1])};
  if (!there[0] && !there[1]) return change_bank();
  // The difference, so that the number may start again.
  bank = !there[0] || (there[1] && (int32_t)(generations[1] - generations[0]) > 0);
  generation = generations[bank];
  end = bank_at(bank) + sizeof(bank_header);
  record read;
  while (read_record(end, &read)) {
    note(&read, end);
    end += size_of(read.length);
  }
  // What a power cut left behind is in the way of the next record.
  return is_erased(end, bank_at(bank) + CHIP_STORE_BANK) ? NULL : change_bank();
}

static const char *checked(const char *key) {
  size_t length = strspn(key, "abcdefghijklmnopqrstuvwxyz0123456789-_");
  return length > 0 && length <= MOST_KEY && key[length] == '\0'
             ? NULL
             : "a key of flash has 1 to 31 of a-z, 0-9, - and _";
}

const char *flash_read(const char *key, uint8_t **bytes, size_t *length) {
  *bytes = NULL;
  *length = 0;
  const char *wrong = checked(key);
  if (wrong) return wrong;
  const entry *known = find(key);
  if (!known) return NULL;
  // One more, so that a text can be ended.
  *bytes = malloc(known->length + 1);
  if (!*bytes) return "there is not enough memory for the value";
  *length = known->length;
  if (chip_read(known->at + sizeof(record), *bytes, known->length)) return NULL;
  free(*bytes);
  *bytes = NULL;
  return NO_CHIP;
}

static const char *append(const char *key, const uint8_t *bytes, uint32_t length) {
  uint32_t size = size_of(length), limit = CHIP_STORE_BANK;
  if (end + size > bank_at(bank) + limit) {
    const char *problem = change_bank();
    if (problem) return problem;
    if (end + size > bank_at(bank) + limit) return NO_ROOM;
  }
  record written = {RECORD_MAGIC, 0, length, {0}};
  strcpy(written.key, key);
  uint32_t value = length == REMOVED ? 0 : length;
  written.crc = chip_crc(crc_of(&written), bytes, value);
  if (!chip_program(end, &written, sizeof written) ||
      !chip_program(end + sizeof written, bytes, value)) {
    // Where it broke off is not known.
    change_bank();
    return NO_CHIP;
  }
  note(&written, end);
  end += size;
  return NULL;
}

const char *flash_write(const char *key, const uint8_t *bytes, size_t length) {
  const char *wrong = checked(key);
  if (wrong) return wrong;
  if (length > FLASH_LARGEST) return "a value of flash may have 128 KiB";
  if (!find(key) && entry_count == MOST_KEYS) return "flash has as many keys as it can have";
  return append(key, bytes, (uint32_t)length);
}

const char *flash_remove(const char *key) {
  const char *wrong = checked(key);
  if (wrong) return wrong;
  return find(key) ? append(key, (const uint8_t *)"", REMOVED) : NULL;
}

bool store_has(const char *key) {
  return find(key) != NULL;
}
