#include "tables.h"

#include <stdlib.h>
#include <string.h>

struct entry {
  const char *name, *value;
};

static const struct entry ENTRIES[] = {
// Made with the program, sorted.
#include "table_entries.h"
};

static int compare(const void *name, const void *entry) {
  return strcmp(name, ((const struct entry *)entry)->name);
}

const char *table_entry(const char *name) {
  const struct entry *found =
      bsearch(name, ENTRIES, sizeof ENTRIES / sizeof *ENTRIES, sizeof *ENTRIES, compare);
  return found ? found->value : NULL;
}
