/* Counts every heap allocation of a process it is preloaded into. The count lies in the file that ALLOCATIONS names, which
 * a test maps: reading it costs the process nothing. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

extern void* __libc_malloc(size_t);
extern void* __libc_calloc(size_t, size_t);
extern void* __libc_realloc(void*, size_t);
extern void* __libc_memalign(size_t, size_t);

static _Atomic long early;
static _Atomic long* count = &early;

__attribute__((constructor)) static void begin(void) {
  const char* path = getenv("ALLOCATIONS");
  const int fd = path ? open(path, O_RDWR) : -1;
  if (fd < 0) return;
  void* shared = mmap(NULL, sizeof *count, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (shared != MAP_FAILED) count = shared;
  close(fd);
}

void* malloc(size_t size) {
  atomic_fetch_add(count, 1);
  return __libc_malloc(size);
}
void* calloc(size_t items, size_t size) {
  atomic_fetch_add(count, 1);
  return __libc_calloc(items, size);
}
void* realloc(void* block, size_t size) {
  atomic_fetch_add(count, 1);
  return __libc_realloc(block, size);
}
void* aligned_alloc(size_t alignment, size_t size) {
  atomic_fetch_add(count, 1);
  return __libc_memalign(alignment, size);
}
int posix_memalign(void** block, size_t alignment, size_t size) {
  atomic_fetch_add(count, 1);
  *block = __libc_memalign(alignment, size);
  return *block ? 0 : 12;
}
