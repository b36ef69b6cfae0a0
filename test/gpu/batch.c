/* Many commands in one process, so that a device's context is made once.
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

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { WORD_LIMIT = 64 };

static int run_line(char *line) {
    char *words[WORD_LIMIT + 1] = {"croft"};
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

int main(void) {
    static char line[1 << 16];
    static runtime_report report;
    runtime_cuda_config config = {.driver = getenv("CROFT_CUDA_DRIVER")};
    runtime_device *held = NULL;
    dup2(STDOUT_FILENO, STDERR_FILENO);
    /* Without a device each command says so itself. */
    runtime_cuda_create(base_allocator_default(), &config, &held, &report);
    while (fgets(line, sizeof line, stdin) != NULL) {
        int status = run_line(line);
        printf("\ndone %d\n", status);
        fflush(stdout);
    }
    if (held != NULL)
        held->vtable->destroy(held);
    return 0;
}
