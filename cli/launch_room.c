/* The room of a launch: see the header. */
#include "launch_room.h"

#include "answer.h"
#include "variant.h"

#include <stdlib.h>
#include <string.h>

/* Roughly how long the launch takes on one thread: short ones do not wake other threads. */
static double predicted_work_ns(const cli_launch *launch) {
    double bytes = 0;
    for (int i = 0; i < launch->module->parameter_count; i++)
        if (launch->arrays[i] != NULL)
            bytes += (double)launch->arrays[i]->size_bytes;
    return bytes / RUNTIME_BYTES_PER_NS;
}

static int pointer_count(const cli_launch *launch) {
    int count = 0;
    for (int i = 0; i < launch->module->parameter_count; i++)
        count += launch->arrays[i] != NULL;
    return count;
}

void cli_launch_room_free(cli_launch_room *room) {
    if (room == NULL)
        return;
    cli_workspace_close(&room->workspace);
    free(room->entries);
    free(room->sizes);
    free(room);
}

cli_launch_room *cli_launch_room_make(cli_launch *launch) {
    int launches = launch->job->compiled.launch_count;
    cli_launch_room *room = calloc(1, sizeof *room);
    if (room != NULL) {
        room->entries = calloc((size_t)launches, sizeof *room->entries);
        room->sizes = calloc((size_t)launches, sizeof *room->sizes);
    }
    if (room == NULL || room->entries == NULL || room->sizes == NULL) {
        cli_out_of_memory(launch->job->options);
        cli_launch_room_free(room);
        return NULL;
    }
    if (cli_workspace_open(&room->workspace, launch->job, launch->arrays) != CLI_EXIT_OK) {
        cli_launch_room_free(room);
        return NULL;
    }
    launch->module = room->workspace.module;
    launch->arrays = room->workspace.arrays;
    machine_flags_split(launch->job->runs_on, &room->flags);
    room->word_count =
        cli_launch_pack(launch->module, launch->job->compiled.bindings.sizes, launch->arrays,
                        launch->scalars, room->pointers, room->words);
    room->places = room->pointers;
    room->launch = (runtime_launch){
        .pointers = room->pointers, .words = room->words, .work_ns = predicted_work_ns(launch)};
    return room;
}

int cli_launch_choose(const cli_launch *launch, cli_launch_room *room) {
    cli_job *job = launch->job;
    int status = cli_variant_choose(job, room->places, room->words);
    if (status != CLI_EXIT_OK)
        return status;
    room->artifact = (runtime_artifact){.text = job->compiled.source_text,
                                        .length = strlen(job->compiled.source_text),
                                        .entry = job->compiled.entry,
                                        .flags = room->flags.list,
                                        .threads = job->compiled.threads,
                                        .cluster = job->compiled.module->cluster,
                                        .overlaps = job->compiled.overlaps,
                                        .pointer_count = pointer_count(launch),
                                        .word_count = (int)room->word_count,
                                        .scratch_bytes = job->compiled.scratch_bytes,
                                        .behind = room->entries,
                                        .behind_count = job->compiled.launch_count - 1};
    for (int i = 1; i < job->compiled.launch_count; i++) {
        const compile_code *code = &job->compiled.launches[i];
        room->entries[i - 1] = (runtime_entry){.name = code->entry,
                                               .threads = code->threads,
                                               .cluster = code->module->cluster,
                                               .scratch_bytes = code->scratch_bytes};
    }
    return CLI_EXIT_OK;
}

int cli_launch_workspace_status(const cli_launch *launch, const cli_launch_room *room, int status) {
    if (status == CLI_EXIT_OK)
        cli_workspace_add_faults(&room->workspace, launch->job);
    bool asked = status == CLI_EXIT_OK && launch->job->options->check;
    return asked && !cli_workspace_is_intact(launch->job->options, &room->workspace)
               ? CLI_EXIT_CHECK_FAILED
               : status;
}

int cli_launch_failed(const cli_options *options, const runtime_report *report) {
    return cli_refuse(options, CLI_EXIT_SYSTEM, "device-failed", NULL, "%s", report->text);
}
