// Runs a prepared folder on the GPU of this machine and compares what its kernels leave with what they must leave.
//
//     host [FOLDER] [--seconds N] [--first RUN] [--last RUN]
//
// It needs the driver library and the C library, nothing else. A process of its own does the work, so that a kernel
// that crashes it or does not end costs that run and no more. Writes `results` and, for whatever is not as expected,
// the memory that was found, `actual/RUN`. The exit status is 0 when all is as expected, 1 when something is not, 2
// when the host itself fails, and 77 when there is no GPU.
//
//     device 90 13000 NVIDIA H100                 architecture, driver version, name
//     date 2026-01-31
//     missing RUN NAME                            a variable that the driver does not find
//     run RUN LAUNCH CODE HOW LOADED WORDS...     what became of a run
//     end RUNS                                    the last line

#include "folder.h"
#include "worker.h"
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { EXIT_DIFFERENT = 1, EXIT_FAILED = 2, EXIT_NO_GPU = 77 };

// The first call of the driver may take long; so may its assembler.
enum { START_SECONDS = 60 };

// A process that is killed inside the driver takes its time to end.
enum { END_SECONDS = 60 };

enum { LINE_MAX_BYTES = 4096 };

// The worker as its parent sees it.
struct worker {
    pid_t process;
    int pipe;
    // What it has said and nobody has read.
    char text[LINE_MAX_BYTES];
    size_t length;
    char stage[32];
};

// What became of the runs, by its first word.
static const char *const HOWS[] = {"equal",  "trapped",   "differs", "unknown", "newer",  "error",
                                   "hung",   "crashed",   "stray",   "untrapped"};
enum { HOW_COUNT = sizeof HOWS / sizeof *HOWS, GOOD_HOWS = 2 };
static int counts[HOW_COUNT];

static FILE *results;

static void record(const struct folder *folder, int number, const char *text) {
    for (int how = 0; how < HOW_COUNT; how++) {
        size_t length = strlen(HOWS[how]);
        if (!strncmp(text, HOWS[how], length) && text[length] == ' ') counts[how]++;
    }
    const struct run *run = &folder->runs[number];
    fprintf(results, "run %d %d %d %s\n", number, run->launch, run->code, text);
    fflush(results);
}

static struct worker start(const struct folder *folder, const struct device *device, int first, int jit_level) {
    int ends[2];
    fflush(NULL);
    if (pipe(ends)) perror("pipe"), exit(EXIT_FAILED);
    pid_t process = fork();
    if (process < 0) perror("fork"), exit(EXIT_FAILED);
    if (process == 0) {
        close(ends[0]);
        // What kernels print goes nowhere.
        int nowhere = open("/dev/null", O_WRONLY);
        if (nowhere >= 0) dup2(nowhere, STDOUT_FILENO);
        FILE *parent = must(fdopen(ends[1], "w"));
        work(folder, device, first, jit_level, parent);
        fflush(parent);
        // The driver's own clean-up may crash on a device in error, and everything has been said.
        _exit(0);
    }
    close(ends[1]);
    return (struct worker){.process = process, .pipe = ends[0], .stage = "start"};
}

enum heard { HEARD_LINE, HEARD_NOTHING, HEARD_END };

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

// Takes the next line out of what was said.
static int take_line(struct worker *worker, char line[LINE_MAX_BYTES]) {
    char *end = memchr(worker->text, '\n', worker->length);
    if (!end) return 0;
    size_t length = (size_t)(end - worker->text);
    memcpy(line, worker->text, length);
    line[length] = 0;
    worker->length -= length + 1;
    memmove(worker->text, end + 1, worker->length);
    return 1;
}

static enum heard listen(struct worker *worker, char line[LINE_MAX_BYTES], double seconds) {
    double until = now() + seconds;
    while (!take_line(worker, line)) {
        struct pollfd waiting = {.fd = worker->pipe, .events = POLLIN};
        double left = until - now();
        int ready = left > 0 ? poll(&waiting, 1, (int)(left * 1000) + 1) : 0;
        if (ready < 0 && errno == EINTR) continue;
        if (ready == 0) return HEARD_NOTHING;
        size_t room = sizeof worker->text - worker->length;
        ssize_t got = read(worker->pipe, worker->text + worker->length, room);
        if (got <= 0) return HEARD_END;
        worker->length += (size_t)got;
    }
    return HEARD_LINE;
}

// Ends the worker; the status that it had by itself. A driver that does not let go of it ends the host.
static int stop(struct worker *worker, int is_hung) {
    int status = 0;
    if (is_hung) kill(worker->process, SIGKILL);
    close(worker->pipe);
    double until = now() + END_SECONDS;
    while (waitpid(worker->process, &status, WNOHANG) == 0) {
        if (now() > until) {
            fprintf(stderr, "the driver does not let the process end: the device may need a reset\n");
            exit(EXIT_FAILED);
        }
        usleep(1000);
    }
    return status;
}

// Says that the worker ended inside run `number`. Returns whether the run is tried again with the driver's assembler
// at its lowest level, which crashes and hangs less.
static int blame(const struct folder *folder, struct worker *worker, int number, int is_hung, int jit_level,
                 double seconds) {
    int status = stop(worker, is_hung);
    if (!is_hung && WIFEXITED(status) && WEXITSTATUS(status) == EXIT_FAILED) exit(EXIT_FAILED);
    if (jit_level && !strcmp(worker->stage, "assemble")) return 1;
    char text[96];
    if (is_hung) snprintf(text, sizeof text, "hung none %s %g", worker->stage, seconds);
    else if (WIFSIGNALED(status)) snprintf(text, sizeof text, "crashed none %s %d", worker->stage, WTERMSIG(status));
    else snprintf(text, sizeof text, "crashed none %s status-%d", worker->stage, WEXITSTATUS(status));
    record(folder, number, text);
    return 0;
}

// Listens to one worker, which starts with run `first`. Returns the next run to perform.
static int follow(const struct folder *folder, const struct device *device, int first, int last, int jit_level,
                  double seconds, int *again) {
    struct worker worker = start(folder, device, first, jit_level);
    int number = first;
    *again = 0;
    while (number < last) {
        char line[LINE_MAX_BYTES];
        int is_starting = !strcmp(worker.stage, "start");
        double limit = is_starting && seconds < START_SECONDS ? START_SECONDS : seconds;
        enum heard heard = listen(&worker, line, limit);
        if (heard != HEARD_LINE) {
            int is_between = heard == HEARD_END && !strcmp(worker.stage, "done");
            if (is_between) {
                // It gave up the device behind a run that it has told about.
                int status = stop(&worker, 0);
                if (WIFEXITED(status) && WEXITSTATUS(status) == EXIT_FAILED) exit(EXIT_FAILED);
                return number;
            }
            *again = blame(folder, &worker, number, heard == HEARD_NOTHING, number == first ? jit_level : 4, limit);
            return *again ? number : number + 1;
        }
        if (!strncmp(line, "stage ", 6)) snprintf(worker.stage, sizeof worker.stage, "%.31s", line + 6);
        if (!strncmp(line, "missing ", 8)) fprintf(results, "missing %d %s\n", number, line + 8);
        if (!strncmp(line, "done ", 5)) {
            record(folder, number++, line + 5);
            strcpy(worker.stage, "done");
        }
    }
    stop(&worker, last < folder->run_count);
    return number;
}

// Asks for the device in a process of its own: one that has called the driver cannot fork.
static int ask_device(struct device *device) {
    int ends[2];
    if (pipe(ends)) perror("pipe"), exit(EXIT_FAILED);
    pid_t process = fork();
    if (process < 0) perror("fork"), exit(EXIT_FAILED);
    if (process == 0) {
        char reason[512];
        if (find_device(device, reason, sizeof reason)) {
            printf("skipped: %s\n", reason);
            fflush(stdout);
            _exit(EXIT_NO_GPU);
        }
        _exit(write(ends[1], device, sizeof *device) == sizeof *device ? 0 : EXIT_FAILED);
    }
    close(ends[1]);
    int is_there = read(ends[0], device, sizeof *device) == sizeof *device;
    close(ends[0]);
    int status;
    waitpid(process, &status, 0);
    if (is_there) return 0;
    return WIFEXITED(status) && WEXITSTATUS(status) ? WEXITSTATUS(status) : EXIT_FAILED;
}

static void write_head(const struct device *device) {
    char date[32] = "";
    time_t seconds = time(NULL);
    struct tm *day = gmtime(&seconds);
    if (day) strftime(date, sizeof date, "%Y-%m-%d", day);
    fprintf(results, "device %d %d %s\ndate %s\n", device->arch, device->driver, device->name, date);
    printf("%s, sm_%d, driver %d\n", device->name, device->arch, device->driver);
}

static int summary(int runs) {
    int good = 0, unsuited = 0;
    for (int how = 0; how < HOW_COUNT; how++) {
        if (counts[how]) printf("%7d %s\n", counts[how], HOWS[how]);
        if (how < GOOD_HOWS) good += counts[how];
        if (!strcmp(HOWS[how], "newer") || !strcmp(HOWS[how], "unknown")) unsuited += counts[how];
    }
    printf("%d of %d runs are as expected; `report` says why the others are not\n", good, runs);
    return good + unsuited == runs ? 0 : EXIT_DIFFERENT;
}

int main(int count, char **arguments) {
    int first = 0, last = -1;
    double seconds = 20;
    for (int at = 1; at < count; at++) {
        const char *word = arguments[at], *value = at + 1 < count ? arguments[at + 1] : "0";
        if (!strcmp(word, "--seconds")) seconds = atof(value), at++;
        else if (!strcmp(word, "--first")) first = atoi(value), at++;
        else if (!strcmp(word, "--last")) last = atoi(value), at++;
        else if (word[0] == '-' || chdir(word)) {
            fprintf(stderr, "usage: host [FOLDER] [--seconds N] [--first RUN] [--last RUN]\n");
            return EXIT_FAILED;
        }
    }
    struct folder folder = read_folder();
    if (last < 0 || last > folder.run_count) last = folder.run_count;
    struct device device = {0};
    int status = ask_device(&device);
    if (status) return status;
    mkdir("actual", 0777);
    results = fopen("results", "w");
    if (!results) perror("results"), exit(EXIT_FAILED);
    write_head(&device);
    int again = 0, number = first;
    while (number < last)
        number = follow(&folder, &device, number, last, again ? 0 : 4, seconds, &again);
    fprintf(results, "end %d\n", last - first);
    fclose(results);
    return summary(last - first);
}
