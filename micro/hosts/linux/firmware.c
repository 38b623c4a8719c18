// Two images next to the installed program, in STATE/firmware: `a` and `b`. The file `state` there is
// one line: "ACTIVE TRIES CONFIRMED BEFORE INSTALLED". ACTIVE and BEFORE are each a, b or 0 (the
// installed program), INSTALLED tells one installed program from the next: where another is installed
// by hand, that one runs and not the images.
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../native/platform.h"
#include "host.h"

#define LARGEST (16 * 1024 * 1024)

static struct {
  char active, before;
  int tries, confirmed;
  long long installed;
} state = {'0', '0', 0, 1, 0};

static int folder_fd = -1;
static char folder_path[600];
static char running = '0';
static int writing = -1;
static double left;
static char problem[300];

static const char *failed(const char *what) {
  snprintf(problem, sizeof problem, "cannot %s the image: %s", what, strerror(errno));
  return problem;
}

static const char *save(void) {
  char line[64];
  int length = snprintf(line, sizeof line, "%c %d %d %c %lld\n", state.active, state.tries,
                        state.confirmed, state.before, state.installed);
  return file_write(folder_fd, "state", line, length);
}

static void load(void) {
  char line[64] = "";
  int fd = openat(folder_fd, "state", O_RDONLY | O_CLOEXEC);
  if (fd < 0) return;
  ssize_t got = read(fd, line, sizeof line - 1);
  close(fd);
  if (got > 0) {
    sscanf(line, "%c %d %d %c %lld", &state.active, &state.tries, &state.confirmed, &state.before,
           &state.installed);
  }
}

static void path_of(char slot, char *path, size_t size) {
  snprintf(path, size, "%s/%c", folder_path, slot);
}

// Which of the images this process is, by its file and not by what anybody says.
static char slot_of_process(void) {
  char path[700];
  struct stat mine, slot;
  if (stat("/proc/self/exe", &mine)) return '0';
  for (char name = 'a'; name <= 'b'; name++) {
    path_of(name, path, sizeof path);
    if (stat(path, &slot) == 0 && slot.st_ino == mine.st_ino && slot.st_dev == mine.st_dev) {
      return name;
    }
  }
  return '0';
}

static void go_back(const char *why) {
  char line[200];
  snprintf(line, sizeof line, "The new image %s: the one before runs again.", why);
  platform_log(line);
  state.active = state.before;
  state.confirmed = 1;
  state.tries = 0;
  save();
}

static void run_image(char slot, char **arguments) {
  char path[700];
  path_of(slot, path, sizeof path);
  execv(path, arguments);
  snprintf(problem, sizeof problem, "Cannot run %s: %s", path, strerror(errno));
  platform_log(problem);
}

// Of the installed program only: it starts every time, the images after it.
static void notice_installed(void) {
  struct stat mine;
  if (state.active == '0' || stat("/proc/self/exe", &mine)) return;
  long long installed = (long long)mine.st_mtime * 1000003 + mine.st_size;
  if (state.installed != 0 && state.installed != installed) {
    platform_log("Another program was installed since the last update: it runs, the update does not.");
    state.active = state.before = '0';
    state.confirmed = 1;
    installed = 0;
  }
  if (state.installed == installed) return;
  state.installed = installed;
  save();
}

void firmware_start(const char *folder, char **arguments) {
  snprintf(folder_path, sizeof folder_path, "%s/firmware", folder);
  if (mkdir(folder_path, 0700) && errno != EEXIST) return;
  folder_fd = open(folder_path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (folder_fd < 0) return;
  load();
  running = slot_of_process();
  if (running != '0' && running == state.active) {
    // Its first run is the one that it was started for; see below.
    return;
  }
  notice_installed();
  if (!state.confirmed) {
    if (state.tries > 0) {
      go_back("was not confirmed");
    } else {
      state.tries = 1;
      // Not run at all when that cannot be kept, or it would be tried for ever.
      if (save()) go_back("cannot be tried");
    }
  }
  for (int turn = 0; turn < 2 && state.active != running && state.active != '0'; turn++) {
    run_image(state.active, arguments);
    if (state.before == state.active) state.before = '0';
    go_back("does not start");
  }
}

bool firmware_confirmed(void) {
  return state.confirmed || running != state.active;
}

const char *firmware_begin(double size) {
  if (folder_fd < 0) return "the folder of state has no room for images";
  if (size <= 0 || size > LARGEST) return "an image may have 16 MiB";
  if (writing >= 0) close(writing);
  char slot[] = {running == 'a' ? 'b' : 'a', '\0'};
  unlinkat(folder_fd, slot, 0);
  writing = openat(folder_fd, slot, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0700);
  if (writing < 0) return failed("make");
  left = size;
  int no_room = posix_fallocate(writing, 0, (off_t)size);
  if (!no_room) return NULL;
  errno = no_room;
  return failed("make room for");
}

const char *firmware_write(const uint8_t *bytes, size_t length) {
  if (writing < 0) return "no image is being written";
  if (length > left) return "the image is larger than was said";
  left -= length;
  while (length > 0) {
    ssize_t wrote = write(writing, bytes, length);
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote <= 0) return failed("write");
    bytes += wrote;
    length -= wrote;
  }
  return NULL;
}

const char *firmware_finish(bool activate) {
  // A download may fail before it has brought anything.
  if (writing < 0 && !activate) return NULL;
  if (writing < 0) return "no image is being written";
  bool whole = left == 0 && fsync(writing) == 0;
  close(writing);
  writing = -1;
  char slot[] = {running == 'a' ? 'b' : 'a', '\0'};
  if (!activate || !whole) {
    unlinkat(folder_fd, slot, 0);
    return activate ? "the image is not whole" : NULL;
  }
  fsync(folder_fd);
  state.before = running;
  state.active = slot[0];
  state.tries = state.confirmed = 0;
  return save();
}

const char *firmware_confirm(void) {
  if (firmware_confirmed()) return NULL;
  state.confirmed = 1;
  return save();
}

const char *firmware_roll_back(void) {
  if (running == '0') return "the installed program runs; there is none before it";
  state.active = state.before == running ? '0' : state.before;
  state.confirmed = 1;
  return save();
}
