/* stub.c: the front of dist/ignis-server. Unpacks the program behind it into a cache folder once, then becomes the program.
 *
 *   [this ELF] [zstd of a ustar archive: ignis-server/...] [footer]
 *
 * A cache folder holds one folder for each build:
 *   <cache>/<build id>/              complete: it got its name by a rename, after its files were on the disk
 *   <cache>/<build id>/.lock         every running server holds it shared, so that nobody removes the build under it
 *   <cache>/<build id>.<pid>.tmp/    being unpacked or being removed
 *
 * Code is run from there, so the folder must be the user's own and closed to others; a noexec mount is passed over.
 */
#define _GNU_SOURCE
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>
#include <zstd.h>

#define PROGRAM "ignis-server"
#define ID_CHARS 32
#define PATH_BYTES 4096

struct footer {
  uint64_t payload_bytes;
  char id[ID_CHARS];
  char magic[8];
} __attribute__((packed));

struct payload {
  int file;
  off_t start;
  size_t size;
  char id[ID_CHARS + 1];
};

static char reason[PATH_BYTES + 256]; /* why the last cache folder would not do */

static int refuse(const char *path, const char *why) {
  snprintf(reason, sizeof reason, "%s: %s", path, why);
  return -1;
}

static void die(const char *what) {
  fprintf(stderr, PROGRAM ": %s\n", what);
  exit(127);
}

/* Writes a path; a path that does not fit ends the program, for a cut one would be another file's. */
static void format_path(char *path, const char *format, const char *a, const char *b) {
  if (snprintf(path, PATH_BYTES, format, a, b) >= PATH_BYTES) die("a path of the cache folder is too long");
}

static struct payload find_payload(void) {
  struct payload payload;
  struct footer footer;
  payload.file = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
  if (payload.file < 0) payload.file = open((const char *)getauxval(AT_EXECFN), O_RDONLY | O_CLOEXEC); /* no /proc here */
  if (payload.file < 0) die("cannot open itself");
  off_t end = lseek(payload.file, 0, SEEK_END) - (off_t)sizeof footer;
  if (end < 0 || pread(payload.file, &footer, sizeof footer, end) != (ssize_t)sizeof footer ||
      memcmp(footer.magic, "IGNISSFX", 8) != 0 || footer.payload_bytes > (uint64_t)end)
    die("this file is cut short: fetch it again");
  payload.start = end - (off_t)footer.payload_bytes;
  payload.size = footer.payload_bytes;
  memcpy(payload.id, footer.id, ID_CHARS);
  payload.id[ID_CHARS] = 0;
  return payload;
}

static int remove_entry(const char *path, const struct stat *status, int kind, struct FTW *walk) {
  (void)status, (void)kind, (void)walk;
  return remove(path);
}

static void remove_tree(const char *path) { nftw(path, remove_entry, 16, FTW_DEPTH | FTW_PHYS | FTW_MOUNT); }

/* Makes the cache folder and its parents. It has to be ours, closed to others, and on a file system that runs programs. */
static int open_cache(const char *cache) {
  char path[PATH_BYTES];
  struct stat status;
  struct statvfs system;
  format_path(path, "%s%s", cache, "");
  for (char *slash = path + 1; *slash; slash++) {
    if (*slash != '/') continue;
    *slash = 0;
    if (mkdir(path, 0700) && errno != EEXIST) return refuse(path, strerror(errno));
    *slash = '/';
  }
  if (mkdir(path, 0700) && errno != EEXIST) return refuse(path, strerror(errno));
  if (lstat(path, &status)) return refuse(path, strerror(errno));
  if (!S_ISDIR(status.st_mode)) return refuse(path, "is not a folder");
  if (status.st_uid != geteuid()) return refuse(path, "belongs to another user");
  if ((status.st_mode & 077) && chmod(path, 0700)) return refuse(path, strerror(errno));
  if (statvfs(path, &system)) return refuse(path, strerror(errno));
  if (system.f_flag & ST_NOEXEC) return refuse(path, "is mounted noexec");
  return 0;
}

/* Takes a share of the build's lock, which the program inherits and holds as long as it lives. */
static int lock_build(const char *build) {
  char path[PATH_BYTES];
  format_path(path, "%s/%s", build, ".lock");
  int lock = open(path, O_RDONLY);
  if (lock < 0) return -1;
  if (flock(lock, LOCK_SH | LOCK_NB)) {
    close(lock);
    return -1;
  }
  format_path(path, "%s/%s", build, PROGRAM "/" PROGRAM);
  if (access(path, X_OK)) { /* was removed before we had the lock */
    close(lock);
    return -1;
  }
  return lock;
}

static uint64_t octal(const char *digits, int num) {
  uint64_t value = 0;
  for (int i = 0; i < num && digits[i] >= '0' && digits[i] <= '7'; i++) value = value * 8 + (uint64_t)(digits[i] - '0');
  return value;
}

static int write_file(const char *path, const char *data, size_t size, mode_t mode) {
  int file = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
  if (file < 0) return refuse(path, strerror(errno));
  while (size) {
    ssize_t written = write(file, data, size);
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) {
      int error = written < 0 ? errno : ENOSPC;
      close(file);
      return refuse(path, strerror(error));
    }
    data += written;
    size -= (size_t)written;
  }
  return close(file) ? refuse(path, strerror(errno)) : 0;
}

/* Lays the archive out under `folder`. It is our own (the build id is its digest): plain files, folders and links only. */
static int extract(const char *archive, size_t size, const char *folder) {
  const char *end = archive + size;
  for (const char *head = archive; head + 512 <= end && *head;) {
    char path[PATH_BYTES], name[300], link[101];
    size_t bytes = octal(head + 124, 12);
    mode_t mode = (mode_t)octal(head + 100, 8) & 0700;
    snprintf(name, sizeof name, "%.155s%s%.100s", head + 345, head[345] ? "/" : "", head);
    format_path(path, "%s/%s", folder, name);
    if (head + 512 + bytes > end) return refuse(path, "the archive is cut short");
    if (head[156] == '5') {
      if (mkdir(path, 0700) && errno != EEXIST) return refuse(path, strerror(errno));
    } else if (head[156] == '2') {
      snprintf(link, sizeof link, "%.100s", head + 157);
      if (symlink(link, path)) return refuse(path, strerror(errno));
    } else if (write_file(path, head + 512, bytes, mode)) {
      return -1;
    }
    head += 512 + ((bytes + 511) & ~(size_t)511);
  }
  return 0;
}

static int unpack(const struct payload *payload, const char *folder) {
  off_t page = payload->start & ~(off_t)4095;
  size_t lead = (size_t)(payload->start - page);
  const char *packed = mmap(0, payload->size + lead, PROT_READ, MAP_PRIVATE, payload->file, page);
  if (packed == MAP_FAILED) return refuse(folder, strerror(errno));
  unsigned long long size = ZSTD_getFrameContentSize(packed + lead, payload->size);
  if (size == ZSTD_CONTENTSIZE_UNKNOWN || size == ZSTD_CONTENTSIZE_ERROR) die("this file is damaged: fetch it again");
  char *archive = mmap(0, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (archive == MAP_FAILED) return refuse(folder, strerror(errno));
  size_t done = ZSTD_decompress(archive, size, packed + lead, payload->size);
  if (ZSTD_isError(done) || done != size) die("this file is damaged: fetch it again");
  int failed = extract(archive, size, folder);
  munmap(archive, size);
  return failed;
}

/* Unpacks beside the build's place, then renames: whoever finds the place finds it complete, after a power cut too. */
static int add_build(const struct payload *payload, const char *cache, const char *build) {
  char folder[PATH_BYTES], path[PATH_BYTES], pid[32];
  snprintf(pid, sizeof pid, ".%d.tmp", (int)getpid());
  format_path(folder, "%s%s", build, pid);
  if (mkdir(folder, 0700)) return refuse(folder, strerror(errno));
  format_path(path, "%s/%s", folder, ".lock");
  int failed = write_file(path, "", 0, 0600) || unpack(payload, folder);
  int directory = open(cache, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (!failed && directory >= 0) syncfs(directory);
  /* Another process may have been faster; its build is as good. */
  if (!failed && rename(folder, build) && errno != ENOTEMPTY && errno != EEXIST) failed = refuse(build, strerror(errno));
  if (directory >= 0) {
    fsync(directory);
    close(directory);
  }
  if (access(folder, F_OK) == 0) remove_tree(folder);
  return failed;
}

/* Removes the other builds that no server runs from, and what an unpacking that was killed has left. */
static void remove_old_builds(const char *cache, const char *id) {
  DIR *directory = opendir(cache);
  if (!directory) return;
  for (struct dirent *entry; (entry = readdir(directory));) {
    char path[PATH_BYTES], lock_path[PATH_BYTES], doomed[PATH_BYTES], pid[32];
    size_t digits = strspn(entry->d_name, "0123456789abcdef");
    if (digits != ID_CHARS || strcmp(entry->d_name, id) == 0) continue;
    format_path(path, "%s/%s", cache, entry->d_name);
    if (entry->d_name[ID_CHARS] == '.') {
      int owner = atoi(entry->d_name + ID_CHARS + 1);
      char process[64];
      snprintf(process, sizeof process, "/proc/%d", owner);
      if (owner > 0 && access("/proc/self", F_OK) == 0 && access(process, F_OK) != 0) remove_tree(path);
      continue;
    }
    if (entry->d_name[ID_CHARS]) continue;
    format_path(lock_path, "%s/%s", path, ".lock");
    int lock = open(lock_path, O_RDONLY | O_CLOEXEC);
    if (lock < 0) continue;
    if (flock(lock, LOCK_EX | LOCK_NB) == 0) {
      snprintf(pid, sizeof pid, ".%d.tmp", (int)getpid());
      format_path(doomed, "%s%s", path, pid);
      if (rename(path, doomed) == 0) remove_tree(doomed);
    }
    close(lock);
  }
  closedir(directory);
}

/* Becomes the program if this cache folder will do; else returns, with `reason` set. */
static void run_from(const struct payload *payload, const char *cache, char **argv) {
  char build[PATH_BYTES], program[PATH_BYTES];
  if (open_cache(cache)) return;
  format_path(build, "%s/%s", cache, payload->id);
  int lock = lock_build(build);
  if (lock < 0) {
    if (add_build(payload, cache, build)) return;
    lock = lock_build(build);
    if (lock < 0) {
      refuse(build, "is in the way");
      return;
    }
    remove_old_builds(cache, payload->id);
  }
  format_path(program, "%s/%s", build, PROGRAM "/" PROGRAM);
  setenv("IGNIS_SELF", argv[0], 1);
  argv[0] = program;
  execv(program, argv);
  refuse(program, strerror(errno));
  close(lock);
}

int main(int argc, char **argv) {
  if (argc == 2 && (!strcmp(argv[1], "--version") || !strcmp(argv[1], "-V") || !strcmp(argv[1], "version"))) {
    puts(PROGRAM " " IGNIS_VERSION);
    return 0;
  }
  struct payload payload = find_payload();
  char cache[PATH_BYTES], user[32];
  snprintf(user, sizeof user, "ignis-%u", (unsigned)geteuid());
  const char *named = getenv("IGNIS_CACHE"), *xdg = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
  if (named && *named) {
    format_path(cache, "%s%s", named, "");
    run_from(&payload, cache, argv);
  } else {
    if (xdg && *xdg == '/') {
      format_path(cache, "%s/%s", xdg, "ignis");
      run_from(&payload, cache, argv);
    } else if (home && *home == '/') {
      format_path(cache, "%s/%s", home, ".cache/ignis");
      run_from(&payload, cache, argv);
    }
    const char *shared[] = {"/var/tmp", "/tmp", "/dev/shm"};
    for (size_t i = 0; i < sizeof shared / sizeof *shared; i++) {
      format_path(cache, "%s/%s", shared[i], user);
      run_from(&payload, cache, argv);
    }
  }
  fprintf(stderr, PROGRAM ": no folder to unpack into (%s); set IGNIS_CACHE to one of your own that may run programs\n", reason);
  return 127;
}
