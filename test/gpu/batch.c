/* Many commands in one process, so that a device's context is made once. (PoCL reads its library of
 * functions when the first context is made.)
 *
 *     run examples/softmax.croft x=randn:4x33 y=a.npy --target cuda      a line of standard input
 *     check y: ok, ...                                                   what the command prints
 *     done 0                                                             its exit code
 *
 * Words are separated by single spaces. What goes to standard error is joined to standard output.
 * It knows `run` only.
 */
#include "answer.h"

#include "runtime/cuda.h"
#include "runtime/opencl.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The most that a line can have. */
enum { LINE_LIMIT = 1 << 16, WORD_LIMIT = LINE_LIMIT / 2 };

static int run_line(char *line) {
    static char *words[WORD_LIMIT + 1] = {"croft"};
    int count = 1;
    char *rest = NULL;
    for (char *word = strtok_r(line, " \n", &rest); word != NULL && count < WORD_LIMIT;
         word = strtok_r(NULL, " \n", &rest))
        words[count++] = word;
    cli_options options;
    cli_answer answer;
    cli_answer_open(&answer, false);
    int status = CLI_EXIT_USAGE;
    if (cli_options_parse(count, words, &answer, &options) && options.command != NULL &&
        strcmp(options.command, "run") == 0 && options.file != NULL) {
        options.no_cache = true; /* nothing is taken from the user's, nor put there */
        status = cli_run(&options);
    }
    return cli_answer_close(&answer, &options, status);
}

static runtime_report report;

/* Without a device each command says so itself. */
static runtime_device *hold_cuda(void) {
    runtime_cuda_config config = {.driver = getenv("CROFT_CUDA_DRIVER")};
    runtime_device *held = NULL;
    runtime_cuda_create(base_allocator_default(), &config, &held, &report);
    return held;
}

static runtime_device *hold_opencl(void) {
    runtime_opencl_config config = {.library = getenv("CROFT_OPENCL_LIBRARY")};
    runtime_device *held = NULL;
    runtime_opencl_create(base_allocator_default(), &config, &held, &report);
    return held;
}

int main(void) {
    static char line[LINE_LIMIT];
    runtime_device *held = hold_cuda(), *held_opencl = NULL;
    dup2(STDOUT_FILENO, STDERR_FILENO);
    while (fgets(line, sizeof line, stdin) != NULL) {
        if (held_opencl == NULL && strstr(line, " --target opencl") != NULL)
            held_opencl = hold_opencl();
        int status = run_line(line);
        printf("\ndone %d\n", status);
        fflush(stdout);
    }
    if (held_opencl != NULL)
        held_opencl->vtable->destroy(held_opencl);
    if (held != NULL)
        held->vtable->destroy(held);
    return 0;
}
