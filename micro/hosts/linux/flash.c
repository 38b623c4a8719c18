// Flash as files: one for each key, written in one step.
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../native/platform.h"
#include "host.h"

static int folder_fd = -1;
static char problem[512];

bool file_name_fits(const char *name) {
  size_t length = strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789-_");
  return length > 0 && length < 32 && name[length] == '\0';
}

static const char *failed(const char *what, const char *name) {
  snprintf(problem, sizeof problem, "cannot %s %s: %s", what, name, strerror(errno));
  return problem;
}

static bool make_folder(const char *path) {
  char part[512];
  for (size_t i = 1; path[i - 1] && i < sizeof part; i++) {
    if (path[i] != '/' && path[i] != '\0') continue;
    memcpy(part, path, i);
    part[i] = '\0';
    if (mkdir(part, 0700) && errno != EEXIST) return false;
  }
  return true;
}

const char *flash_open(const char *folder) {
  char path[512];
  snprintf(path, sizeof path, "%s/flash", folder);
  if (make_folder(path)) folder_fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (folder_fd < 0) {
    snprintf(problem, sizeof problem,
             "the folder of state %s cannot be used: %s. Name another one with -state, or make it "
             "writable", path, strerror(errno));
    return problem;
  }
  int lock = openat(folder_fd, "LOCK", O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (lock < 0) return failed("write to", path);
  if (flock(lock, LOCK_EX | LOCK_NB)) {
    snprintf(problem, sizeof problem,
             "another machine-micro-server uses %s. End it, or name another folder with -state",
             folder);
    return problem;
  }
  return NULL;
}

static bool write_all(int fd, const uint8_t *bytes, size_t length) {
  while (length > 0) {
    ssize_t wrote = write(fd, bytes, length);
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote <= 0) return false;
    bytes += wrote;
    length -= wrote;
  }
  return true;
}

const char *file_write(int folder, const char *name, const void *bytes, size_t length) {
  char fresh[64];
  snprintf(fresh, sizeof fresh, "%s.new", name);
  int fd = openat(folder, fresh, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (fd < 0) return failed("make", fresh);
  bool written = write_all(fd, bytes, length) && fsync(fd) == 0;
  int why = errno;
  close(fd);
  errno = why;
  if (written && renameat(folder, fresh, folder, name) == 0 && fsync(folder) == 0) return NULL;
  const char *text = failed("write", name);
  unlinkat(folder, fresh, 0);
  return text;
}

static const char *checked(const char *key) {
  if (file_name_fits(key)) return NULL;
  snprintf(problem, sizeof problem, "%.40s is no key: 1 to 31 of a-z, 0-9, - and _ are", key);
  return problem;
}

const char *flash_read(const char *key, uint8_t **bytes, size_t *length) {
  *bytes = NULL;
  *length = 0;
  const char *wrong = checked(key);
  if (wrong) return wrong;
  int fd = openat(folder_fd, key, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
  if (fd < 0) return errno == ENOENT ? NULL : failed("read", key);
  struct stat info;
  const char *text = NULL;
  if (fstat(fd, &info) || info.st_size > FLASH_LARGEST) {
    text = "the value is larger than any that was written here";
  } else if (!(*bytes = malloc(info.st_size + 1))) {
    text = "there is not enough memory for the value";
  } else {
    ssize_t got;
    while (*length < (size_t)info.st_size &&
           (got = read(fd, *bytes + *length, info.st_size - *length)) > 0) {
      *length += got;
    }
    if (*length < (size_t)info.st_size) text = failed("read", key);
  }
  close(fd);
  if (text) {
    free(*bytes);
    *bytes = NULL;
  }
  return text;
}

const char *flash_write(const char *key, const uint8_t *bytes, size_t length) {
  const char *wrong = checked(key);
  if (wrong) return wrong;
  if (length > FLASH_LARGEST) return "a value of flash may have 1 MiB";
  return file_write(folder_fd, key, bytes, length);
}

const char *flash_remove(const char *key) {
  const char *wrong = checked(key);
  if (wrong) return wrong;
  if (unlinkat(folder_fd, key, 0) && errno != ENOENT) return failed("remove", key);
  fsync(folder_fd);
  return NULL;
}
