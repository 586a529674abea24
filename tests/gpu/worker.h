// The process that talks to the driver.

#ifndef GPU_WORKER_H
#define GPU_WORKER_H

#include "folder.h"
#include <stdio.h>

// The first device: what `sm_` it is, its driver and its name.
struct device {
    int arch, driver;
    char name[128];
};

// Finds the driver library and its first device. Returns 0, or writes to `reason` why there is none.
int find_device(struct device *device, char *reason, size_t reason_size);

// Performs the runs from `first` on, and tells `parent` about each:
//
//     stage NAME             what is done now
//     missing NAME           a variable that the driver does not find
//     done HOW WORDS...      what became of the run; the next one follows
//
// `jit_level` is the driver's optimization level for the first run. Returns where it stopped: the number of runs, or
// behind a run that left the device unusable to this process.
int work(const struct folder *folder, const struct device *device, int first, int jit_level, FILE *parent);

#endif
