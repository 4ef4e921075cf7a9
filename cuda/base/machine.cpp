#include "machine.h"

#include <cpuid.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

namespace ignis {

// The first line of a file without its newline; false where it cannot be read.
static bool read_line(const char *path, char *line, int capacity) {
  FILE *file = fopen(path, "re");
  if (!file) return false;
  const bool has_line = fgets(line, capacity, file) != nullptr;
  fclose(file);
  if (has_line) line[strcspn(line, "\n")] = 0;
  return has_line;
}

// Calls use(context, folder) for the folder of each cgroup of this process under `root`, from its own up to the root.
// `controller` is a v1 controller's name, or "" for v2's single tree.
template <class Use>
static void each_cgroup(const char *root, const char *controller, const Use &use) {
  FILE *file = fopen("/proc/self/cgroup", "re");
  if (!file) return;
  char line[1024], path[1024] = "/";
  while (fgets(line, sizeof line, file)) {  // number:controllers:path
    line[strcspn(line, "\n")] = 0;
    char *controllers = strchr(line, ':');
    char *own = controllers ? strchr(controllers + 1, ':') : nullptr;
    if (!own) continue;
    *own++ = 0;
    controllers++;
    const bool matches = controller[0] == 0 ? controllers[0] == 0 : strstr(controllers, controller) != nullptr;
    if (matches) snprintf(path, sizeof path, "%s", own);
  }
  fclose(file);
  for (;;) {
    char folder[1200];
    snprintf(folder, sizeof folder, "%s%s", root, strcmp(path, "/") == 0 ? "" : path);
    use(folder);
    char *slash = strrchr(path, '/');
    if (!slash || path[1] == 0) return;
    slash[slash == path ? 1 : 0] = 0;
  }
}

static uint32_t quota_cores() {
  uint64_t least = UINT32_MAX;
  const auto limit = [&least](long long quota, long long period) {
    if (quota <= 0 || period <= 0) return;
    const uint64_t cores = static_cast<uint64_t>((quota + period - 1) / period);
    if (cores < least) least = cores;
  };
  char path[1300], line[128];
  each_cgroup("/sys/fs/cgroup", "", [&](const char *folder) {
    long long quota = 0, period = 0;
    snprintf(path, sizeof path, "%s/cpu.max", folder);
    if (read_line(path, line, sizeof line) && sscanf(line, "%lld %lld", &quota, &period) == 2) limit(quota, period);
  });
  each_cgroup("/sys/fs/cgroup/cpu", "cpu", [&](const char *folder) {
    char period[128];
    snprintf(path, sizeof path, "%s/cpu.cfs_quota_us", folder);
    if (!read_line(path, line, sizeof line)) return;
    snprintf(path, sizeof path, "%s/cpu.cfs_period_us", folder);
    if (read_line(path, period, sizeof period)) limit(atoll(line), atoll(period));
  });
  return static_cast<uint32_t>(least);
}

uint32_t usable_cores() {
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  if (sched_getaffinity(0, sizeof allowed, &allowed) != 0) return 1;
  uint32_t cores = 0;
  for (int cpu = 0; cpu < CPU_SETSIZE; cpu++) {
    if (!CPU_ISSET(cpu, &allowed)) continue;
    // Two hardware threads of a core share its vector units: only the first allowed one of each core counts.
    char path[128], siblings[256];
    snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu%d/topology/thread_siblings_list", cpu);
    bool is_first = true;
    if (read_line(path, siblings, sizeof siblings)) {
      for (char *text = siblings; *text;) {  // "0,64" or "0-1"
        int first = static_cast<int>(strtol(text, &text, 10)), last = first;
        if (*text == '-') last = static_cast<int>(strtol(text + 1, &text, 10));
        for (int other = first; other <= last && other < cpu; other++)
          if (other >= 0 && CPU_ISSET(other, &allowed)) is_first = false;
        if (*text != ',') break;
        text++;
      }
    }
    if (is_first) cores++;
  }
  const uint32_t quota = quota_cores();
  if (quota < cores) cores = quota;
  return cores < 1 ? 1 : cores;
}

uint64_t usable_memory_bytes() {
  uint64_t least = static_cast<uint64_t>(sysconf(_SC_PHYS_PAGES)) * static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
  char path[1300], line[128];
  const auto limit = [&](const char *folder, const char *name) {
    snprintf(path, sizeof path, "%s/%s", folder, name);
    if (!read_line(path, line, sizeof line)) return;
    const uint64_t bytes = strtoull(line, nullptr, 10);  // "max" reads as 0
    if (bytes != 0 && bytes < least) least = bytes;
  };
  each_cgroup("/sys/fs/cgroup", "", [&](const char *folder) { limit(folder, "memory.max"); });
  each_cgroup("/sys/fs/cgroup/memory", "memory", [&](const char *folder) { limit(folder, "memory.limit_in_bytes"); });
  return least;
}

void processor_name(char name[96]) {
  unsigned brand[12] = {};
  for (unsigned i = 0; i < 3; i++) {
    unsigned *part = brand + 4 * i;
    if (!__get_cpuid(0x80000002u + i, &part[0], &part[1], &part[2], &part[3])) brand[0] = 0;
  }
  char text[49] = {};
  memcpy(text, brand, 48);
  const char *start = text;
  while (*start == ' ') start++;
  snprintf(name, 96, "%s", *start ? start : "x86-64 processor");
  for (size_t end = strlen(name); end > 0 && name[end - 1] == ' '; end--) name[end - 1] = 0;
}

}  // namespace ignis
