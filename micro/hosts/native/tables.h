// The tables of messages, enums and methods, which stay out of the script's heap.
#ifndef MICRO_TABLES_H
#define MICRO_TABLES_H

/** What the table has for a name; NULL: nothing. */
const char *table_entry(const char *name);

#endif
