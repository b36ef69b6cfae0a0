/* Findings of the simulator as text.
 *
 *     k.ir:14: error: cell 3 of %s is read, and nothing orders that after the put [sim-race]
 *       found: %a = get %s[slot*1], %p : f32(4)
 *       expected: a sync of a scope that holds both lanes
 *       hint: read by group 0, subgroup 1, lane 5, slot 3;
 *             the other one is line 12, subgroup 0, lane 2
 */
#include "sim/thread_internal.h"

#include "ir/print.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static const char *const slugs[] = {
#define FINDING(ID, slug, doc) [SIM_##ID] = slug,
#include "sim/findings.def"
#undef FINDING
};

static const char *const docs[] = {
#define FINDING(ID, slug, doc) [SIM_##ID] = doc,
#include "sim/findings.def"
#undef FINDING
};

static const char *const expectations[SIM_FINDING_COUNT] = {
    [SIM_RACE] = "a sync of a scope that holds both lanes, between the two",
    [SIM_DIVERGENT] = "control that is the same in all lanes of the scope",
    [SIM_NOT_UNIFORM] = "one value in all lanes of the group",
    [SIM_UNWRITTEN] = "a write before",
    [SIM_OUTSIDE] = "a position that exists, or a mask",
    [SIM_TWO_WRITERS] = "one lane that writes a cell, and reads it",
    [SIM_EXIT] = "a `sync cluster` behind the last access of another group's scratch",
    [SIM_GATHER] = "an index inside the tensor, or `fill=` in the kernel",
    [SIM_FACT] = "a fact that holds wherever the program can come to",
    [SIM_STEP] = "a step above 0",
};

const char *sim_finding_slug(int finding) {
    return finding >= 0 && finding < SIM_FINDING_COUNT ? slugs[finding] : NULL;
}

const char *sim_finding_doc(int finding) {
    return finding >= 0 && finding < SIM_FINDING_COUNT ? docs[finding] : NULL;
}

bool sim_is_news(sim_team *team, sim_finding finding, const ir_op *op) {
    for (int64_t i = 0; i < team->seen_count; i++)
        if (team->seen[i].op == op && team->seen[i].finding == finding)
            return false;
    sim_seen seen = {op, finding};
    BASE_PUSH(team->arena, team->seen, team->seen_count, team->seen_capacity, seen);
    return true;
}

/* ---- names ---- */

/* The word that begins a line of IR at `at`. */
static const char *label_at(sim_team *team, const char *at) {
    return base_arena_copy(team->arena, at, strcspn(at, " ,:=["));
}

const char *sim_label(sim_team *team, const ir_value *value) {
    const ir_op *op = value->definer;
    if (op != NULL) {
        base_text line;
        base_text_init(&line, team->arena);
        ir_op_print(&line, team->module, op);
        const char *at = line.bytes;
        for (int i = 0; i < op->result_count && op->results[i] != value; i++) {
            at = strchr(at, ',');
            if (at == NULL)
                return "a value";
            at += 2;
        }
        return label_at(team, at);
    }
    char name[80];
    snprintf(name, sizeof name, "%%%.70s", value->name != NULL ? value->name : "argument");
    return base_arena_copy(team->arena, name, strlen(name));
}

const char *sim_cell_name(sim_team *team, const sim_parameter *tensor, int64_t flat) {
    int rank = tensor->parameter->value->type.rank;
    int64_t position[IR_MAX_RANK] = {0};
    for (int d = rank - 1; d >= 0; d--) {
        position[d] = flat % tensor->extent[d];
        flat /= tensor->extent[d];
    }
    base_text out;
    base_text_init(&out, team->arena);
    base_text_string(&out, "cell [");
    for (int d = 0; d < rank; d++)
        base_text_format(&out, d > 0 ? ", %lld" : "%lld", (long long)position[d]);
    base_text_format(&out, "] of %%%.60s", tensor->parameter->name);
    return out.bytes;
}

static const char *op_text(sim_team *team, const ir_op *op) {
    base_text line;
    base_text_init(&line, team->diagnostics->arena);
    ir_op_print(&line, team->module, op);
    return line.bytes;
}

/* ---- findings ---- */

static void append_place(const sim_team *team, base_text *out, int64_t group, int64_t thread,
                         int slot) {
    base_text_format(out, "group %lld", (long long)group);
    if (thread < 0) {
        base_text_string(out, ", all lanes");
    } else {
        int64_t own = thread % team->lanes;
        base_text_format(out, ", subgroup %lld, lane %lld", (long long)(own / team->subgroup_lanes),
                         (long long)(own % team->subgroup_lanes));
    }
    if (slot >= 0)
        base_text_format(out, ", slot %d", slot);
}

static int64_t group_of(const sim_team *team, int64_t thread) {
    return team->first_group + (thread < 0 ? -1 - thread : thread / team->lanes);
}

void sim_report(sim_team *team, sim_finding finding, const ir_op *op, int64_t thread, int slot,
                const sim_moment *other, const char *format, ...) {
    char message[300];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);
    base_location location = op->location;
    if (location.source == NULL)
        location.source = team->module->source;
    base_diagnostic *added =
        base_diagnostics_add(team->diagnostics, slugs[finding], location, "%s", message);
    base_text places;
    base_text_init(&places, team->diagnostics->arena);
    append_place(team, &places, group_of(team, thread), thread, slot);
    if (other != NULL && other->op != NULL) {
        base_text_format(&places, "; the other one is line %d, ", (int)other->op->location.line);
        append_place(team, &places, other->group, other->thread, other->slot);
        base_text_format(&places, ": `%s`", op_text(team, other->op));
    }
    added->found = op_text(team, op);
    added->expected = expectations[finding];
    added->hint = places.bytes;
}
