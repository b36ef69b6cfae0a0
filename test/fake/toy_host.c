/* Runs a text of the toy dialect (docs/how-to-add-dialect.md): the threads of a group are threads
 * of the host, groups run one after the other. The text stands in front of this file.
 *
 *     program GROUPS BYTES... < inputs > outputs      bytes of each tensor; then `-` and the words
 *
 * Tensors are read from standard input, one behind the other, and written behind the run. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

_Thread_local int toy_thread;
int toy_block;
static pthread_barrier_t barrier;
static struct croft_arguments given;
static int groups;

void toy_wait(void) {
    pthread_barrier_wait(&barrier);
}

static void *run(void *number) {
    toy_thread = (int)(size_t)number;
    for (int group = 0; group < groups; group++) {
        if (toy_thread == 0)
            toy_block = group;
        toy_wait();
        TOY_ENTRY(given);
        toy_wait();
    }
    return NULL;
}

int main(int argc, char **argv) {
    static char workspace[1 << 22];
    size_t bytes[8];
    int tensors = 0, at = 2;
    groups = atoi(argv[1]);
    for (; at < argc && argv[at][0] != '-'; at++, tensors++) {
        bytes[tensors] = (size_t)atoll(argv[at]);
        given.pointers[tensors] = aligned_alloc(64, (bytes[tensors] + 63) / 64 * 64 + 64);
        if (fread(given.pointers[tensors], 1, bytes[tensors], stdin) != bytes[tensors])
            return 1;
    }
    for (int word = 0; ++at < argc; word++)
        given.words[word] = atoll(argv[at]);
    given.workspace = workspace;
    pthread_t threads[toy_threads];
    pthread_barrier_init(&barrier, NULL, toy_threads);
    for (int i = 0; i < toy_threads; i++)
        if (pthread_create(&threads[i], NULL, run, (void *)(size_t)i) != 0)
            return 1;
    for (int i = 0; i < toy_threads; i++)
        pthread_join(threads[i], NULL);
    for (int i = 0; i < tensors; i++)
        fwrite(given.pointers[i], 1, bytes[i], stdout);
    return 0;
}
