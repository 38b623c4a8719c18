// The script's timers.
#ifndef MICRO_TIMERS_H
#define MICRO_TIMERS_H

/** When the next one is due, as platform_now() tells; INFINITY when there is none. */
double timers_next(void);
/** Calls back for those that are due; one that a callback sets waits for the next time. */
void timers_run(void);

#endif
