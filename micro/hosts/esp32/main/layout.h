// Where values are in the partition `machine`; partitions.csv has its size.
#ifndef MICRO_LAYOUT_H
#define MICRO_LAYOUT_H

#define CHIP_STORE 0u
/** Each of the two halves of the store. */
#define CHIP_STORE_BANK (384u * 1024)

#endif
