// A library that is loaded before libc: while the file that STALLED_DISK names exists, no write to
// a disk ends.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static int stall(const char *name, int file) {
	const char *stalled = getenv("STALLED_DISK");
	const struct timespec pause = {0, 1000000};
	while (stalled && access(stalled, F_OK) == 0)
		nanosleep(&pause, NULL);
	return ((int (*)(int))dlsym(RTLD_NEXT, name))(file);
}

int fsync(int file) { return stall("fsync", file); }

int fdatasync(int file) { return stall("fdatasync", file); }
