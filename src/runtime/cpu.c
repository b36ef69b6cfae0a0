/* The device `cpu`. A launch asks the module for its groups and workspace, then lets the team call
 * the entry on ranges of groups.
 *
 *     4096 rows, 400 us predicted, 2 workers:
 *     pieces of 256 rows (25 us), a workspace for each worker
 *
 * One block of workspace memory is kept from launch to launch: fresh pages would cost more than
 * many a kernel. A launch that finds it in use allocates its own.
 */
#include "runtime/cpu.h"

#include "base/checked.h"

#include <fenv.h>
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

/* Under SERIAL_WORK_NS waking a thread costs more than it brings; PIECE_NS is the least work that
 * is worth handing over. */
enum { WORKSPACE_ALIGN = 64, SERIAL_WORK_NS = 8000, PIECE_NS = 4000, ENTRY_LIMIT = 200 };

typedef void cpu_entry(void *const *pointers, const int64_t *words, int64_t begin, int64_t end,
                       void *workspace);
typedef int64_t cpu_query(const int64_t *words);

struct runtime_module {
    runtime_module *behind; /* the launch behind this one; NULL: none */
    void *library;          /* of the first launch; NULL in the others */
    cpu_entry *entry;
    cpu_query *groups;
    cpu_query *workspace;
};

typedef struct cpu_memory {
    size_t size; /* of the whole block, this head included */
} cpu_memory;

typedef struct cpu_device {
    runtime_device device;
    base_allocator allocator;
    runtime_compiler_config compiler;
    runtime_team *team;
    cpu_memory *_Atomic kept;
} cpu_device;

typedef struct cpu_job {
    const runtime_module *module;
    const runtime_launch *launch;
    char *workspace;
    int64_t worker_bytes;
} cpu_job;

static void *resize(const cpu_device *cpu, void *memory, size_t old_size, size_t new_size) {
    return cpu->allocator.resize(cpu->allocator.context, memory, old_size, new_size);
}

/* ---- load ---- */

/* dlsym gives an object pointer; ISO C has no cast from it to a function. */
static runtime_status find_function(void *library, const char *entry, const char *suffix,
                                    void *function, runtime_report *report) {
    char name[ENTRY_LIMIT + 32];
    strcpy(name, entry);
    strcat(name, suffix);
    void *address = runtime_library_symbol(library, name);
    if (address == NULL)
        return runtime_report_set(report, RUNTIME_LOAD_FAILED,
                                  "the compiled library has no function `%s`", name);
    memcpy(function, &address, sizeof address);
    return RUNTIME_OK;
}

static runtime_status find_functions(runtime_module *module, void *library, const char *entry,
                                     runtime_report *report) {
    runtime_status status = find_function(library, entry, "", &module->entry, report);
    if (status == RUNTIME_OK)
        status = find_function(library, entry, "_groups", &module->groups, report);
    if (status == RUNTIME_OK)
        status = find_function(library, entry, "_workspace", &module->workspace, report);
    return status;
}

static void cpu_unload(runtime_device *device, runtime_module *module) {
    for (runtime_module *behind; module != NULL; module = behind) {
        behind = module->behind;
        if (module->library != NULL)
            runtime_library_close(module->library);
        resize((cpu_device *)device, module, sizeof *module, 0);
    }
}

static runtime_module *new_module(cpu_device *cpu, runtime_report *report) {
    runtime_module *made = resize(cpu, NULL, 0, sizeof *made);
    if (made != NULL)
        *made = (runtime_module){0};
    else
        runtime_report_set(report, RUNTIME_NO_MEMORY, "no memory for a module");
    return made;
}

/* The functions of the launches behind the first. */
static runtime_status find_behind(cpu_device *cpu, const runtime_artifact *artifact,
                                  runtime_module *first, runtime_report *report) {
    runtime_status status = RUNTIME_OK;
    runtime_module *last = first;
    for (int i = 0; i < artifact->behind_count && status == RUNTIME_OK; i++) {
        last->behind = new_module(cpu, report);
        if (last->behind == NULL)
            return RUNTIME_NO_MEMORY;
        last = last->behind;
        status = find_functions(last, first->library, artifact->behind[i].name, report);
    }
    return status;
}

static runtime_status check_names(const runtime_artifact *artifact, runtime_report *report) {
    for (int i = -1; i < artifact->behind_count; i++) {
        const char *name = i < 0 ? artifact->entry : artifact->behind[i].name;
        if (strlen(name) > ENTRY_LIMIT)
            return runtime_report_set(report, RUNTIME_LOAD_FAILED,
                                      "the entry's name has %zu characters, at most %d are "
                                      "possible",
                                      strlen(name), ENTRY_LIMIT);
    }
    return RUNTIME_OK;
}

static runtime_status cpu_load(runtime_device *device, const runtime_artifact *artifact,
                               runtime_module **module, runtime_report *report) {
    cpu_device *cpu = (cpu_device *)device;
    *module = NULL;
    report->from_cache = false;
    runtime_status status = check_names(artifact, report);
    if (status != RUNTIME_OK)
        return status;
    runtime_module *made = new_module(cpu, report);
    if (made == NULL)
        return RUNTIME_NO_MEMORY;
    status = runtime_compiler_build(&cpu->compiler, artifact->text, artifact->length,
                                    artifact->flags, &made->library, report);
    if (status == RUNTIME_OK)
        status = find_functions(made, made->library, artifact->entry, report);
    if (status == RUNTIME_OK)
        status = find_behind(cpu, artifact, made, report);
    if (status == RUNTIME_OK)
        *module = made;
    else
        cpu_unload(device, made);
    return status;
}

/* ---- launch ---- */

/* More than the machine has would be promised by the system and then kill the process. */
static bool memory_is_there(int64_t bytes) {
    long pages = sysconf(_SC_PHYS_PAGES), page_bytes = sysconf(_SC_PAGESIZE);
    return pages <= 0 || page_bytes <= 0 || bytes / page_bytes <= pages;
}

/* A block of at least `bytes` past its head; the kept one if it is free and large enough. */
static cpu_memory *take_memory(cpu_device *cpu, int64_t bytes) {
    int64_t size;
    if (!base_checked_add(bytes, (int64_t)sizeof(cpu_memory) + WORKSPACE_ALIGN, &size))
        return NULL;
    cpu_memory *memory = atomic_exchange(&cpu->kept, NULL);
    if (memory != NULL && memory->size >= (size_t)size)
        return memory;
    if (memory != NULL)
        resize(cpu, memory, memory->size, 0);
    if (!memory_is_there(size)) /* asks the system: 0.4 us */
        return NULL;
    memory = resize(cpu, NULL, 0, (size_t)size);
    if (memory != NULL)
        memory->size = (size_t)size;
    return memory;
}

static void give_memory(cpu_device *cpu, cpu_memory *memory) {
    memory = atomic_exchange(&cpu->kept, memory);
    if (memory != NULL)
        resize(cpu, memory, memory->size, 0);
}

static char *aligned_workspace(cpu_memory *memory) {
    char *first = (char *)(memory + 1);
    return first + (-(uintptr_t)first & (WORKSPACE_ALIGN - 1));
}

/* How a thread rounds and what it traps. Entries get the default, and the thread its own back. On
 * x86-64 entries use one register of that, which costs a few cycles; all of it costs 0.3 us. */
#if defined(__x86_64__)
typedef unsigned cpu_rounding;

enum { DEFAULT_ROUNDING = 0x1f80 }; /* to nearest, nothing trapped, nothing flushed, no flag */

static cpu_rounding take_default_rounding(void) {
    cpu_rounding threads = __builtin_ia32_stmxcsr();
    if (threads != DEFAULT_ROUNDING)
        __builtin_ia32_ldmxcsr(DEFAULT_ROUNDING);
    return threads;
}

static void give_rounding_back(cpu_rounding threads) {
    __builtin_ia32_ldmxcsr(threads);
}
#else
typedef fenv_t cpu_rounding;

static cpu_rounding take_default_rounding(void) {
    cpu_rounding threads;
    fegetenv(&threads);
    fesetenv(FE_DFL_ENV);
    return threads;
}

static void give_rounding_back(cpu_rounding threads) {
    fesetenv(&threads);
}
#endif

static void run_groups(void *state, int64_t begin, int64_t end, int worker) {
    const cpu_job *job = state;
    char *workspace = job->workspace != NULL ? job->workspace + job->worker_bytes * worker : NULL;
    cpu_rounding threads = take_default_rounding();
    job->module->entry(job->launch->pointers, job->launch->words, begin, end, workspace);
    give_rounding_back(threads);
}

/* The least number of groups worth handing over. */
static int64_t choose_grain(int64_t groups, double work_ns) {
    if (!(work_ns >= SERIAL_WORK_NS))
        return groups;
    double grain = (double)groups * (PIECE_NS / work_ns);
    return grain <= 1.0 ? 1 : grain >= (double)groups ? groups : (int64_t)grain;
}

/* The bytes of each worker, rounded so that workers share no cache line, and of all together. */
static bool workspace_bytes(int64_t needed, int64_t workers, int64_t *each, int64_t *all) {
    if (needed < 0 || !base_checked_add(needed, WORKSPACE_ALIGN - 1, each))
        return false;
    *each = *each / WORKSPACE_ALIGN * WORKSPACE_ALIGN;
    return base_checked_mul(*each, workers, all);
}

/* How a launch is run: nothing has been yet. */
typedef struct cpu_shares {
    int64_t groups, grain, each, all; /* bytes of each worker and of all */
} cpu_shares;

static runtime_status divide(const cpu_device *cpu, const runtime_module *module,
                             const runtime_launch *launch, cpu_shares *shares,
                             runtime_report *report) {
    *shares = (cpu_shares){.groups = module->groups(launch->words)};
    if (shares->groups < 0)
        return runtime_report_set(report, RUNTIME_NO_MEMORY,
                                  "a size of the kernel does not fit 64 bits");
    if (shares->groups == 0)
        return RUNTIME_OK;
    shares->grain = choose_grain(shares->groups, launch->work_ns);
    int64_t workers = runtime_team_workers(cpu->team, shares->groups, shares->grain);
    int64_t needed = module->workspace(launch->words);
    if (needed < 0)
        return runtime_report_set(report, RUNTIME_NO_MEMORY,
                                  "the workspace of the kernel does not fit 64 bits");
    if (!workspace_bytes(needed, workers, &shares->each, &shares->all))
        return runtime_report_set(report, RUNTIME_NO_MEMORY,
                                  "a workspace of %lld bytes for each of %lld threads is too large",
                                  (long long)needed, (long long)workers);
    return RUNTIME_OK;
}

/* All launches share one block, as large as the most that one of them needs. */
static runtime_status cpu_launch(runtime_device *device, runtime_module *module,
                                 const runtime_launch *launch, runtime_report *report) {
    cpu_device *cpu = (cpu_device *)device;
    cpu_shares shares;
    cpu_memory *memory = NULL;
    int64_t most = 0;
    for (const runtime_module *one = module; one != NULL; one = one->behind) {
        runtime_status status = divide(cpu, one, launch, &shares, report);
        if (status != RUNTIME_OK)
            return status;
        most = shares.all > most ? shares.all : most;
    }
    if (most > 0) {
        memory = take_memory(cpu, most);
        if (memory == NULL)
            return runtime_report_set(report, RUNTIME_NO_MEMORY,
                                      "no memory for a workspace of %lld bytes", (long long)most);
    }
    for (const runtime_module *one = module; one != NULL; one = one->behind) {
        (void)divide(cpu, one, launch, &shares, report); /* as before */
        cpu_job job = {.module = one, .launch = launch, .worker_bytes = shares.each};
        if (shares.all > 0)
            job.workspace = aligned_workspace(memory);
        if (shares.groups > 0)
            runtime_team_run(cpu->team, shares.groups, shares.grain, run_groups, &job);
    }
    if (memory != NULL)
        give_memory(cpu, memory);
    return RUNTIME_OK;
}

/* ---- the device ---- */

static void cpu_destroy(runtime_device *device) {
    cpu_device *cpu = (cpu_device *)device;
    if (cpu == NULL)
        return;
    runtime_team_destroy(cpu->team);
    cpu_memory *memory = atomic_load(&cpu->kept);
    if (memory != NULL)
        resize(cpu, memory, memory->size, 0);
    resize(cpu, cpu, sizeof *cpu, 0);
}

static const runtime_device_vtable cpu_vtable = {
    .name = "cpu",
    .memory = RUNTIME_MEMORY_CPU,
    .load = cpu_load,
    .unload = cpu_unload,
    .launch = cpu_launch,
    .destroy = cpu_destroy,
};

runtime_device *runtime_cpu_create(base_allocator allocator, const runtime_cpu_config *config) {
    cpu_device *cpu = allocator.resize(allocator.context, NULL, 0, sizeof *cpu);
    if (cpu == NULL)
        return NULL;
    *cpu = (cpu_device){.device.vtable = &cpu_vtable,
                        .allocator = allocator,
                        .compiler = config->compiler,
                        .team = runtime_team_create(allocator, &config->team)};
    if (cpu->team == NULL) {
        cpu_destroy(&cpu->device);
        return NULL;
    }
    return &cpu->device;
}
