/* layout: show one layout, compare two, convert one into another.
 *
 *     croft layout show 'bits(3, 4, 5, 0, 1, 2, slots=2)' --element f16
 *     croft layout compare 'identity(64, slots=2)' '(32,2):(1,32)'
 *     croft layout convert @from.txt @to.txt --machine sm_90,m1 --format json
 *
 * A layout is a text; `@FILE` reads it from a file, `-` from standard input. What is wrong with one
 * is a finding with its place in the text. The reports are printed by layout_text.c,
 * layout_convert_text.c, layout_json.c and layout_picture.c.
 */
#include "layout.h"

#include "answer.h"
#include "job.h"
#include "output.h"

#include <stdlib.h>
#include <string.h>

typedef enum layout_verb { VERB_SHOW, VERB_COMPARE, VERB_CONVERT } layout_verb;
typedef enum layout_format { FORMAT_TEXT, FORMAT_JSON, FORMAT_SVG, FORMAT_HTML } layout_format;

static const char *const verb_names[] = {"show", "compare", "convert"};
static const char *const format_names[] = {"text", "json", "svg", "html"};
enum { VERB_COUNT = 3, FORMAT_COUNT = 4, WIDEST_BYTES = 16, TITLE_CLIP = 200 };

typedef struct layout_job {
    const cli_options *options;
    base_arena arena;
    base_diagnostics diagnostics;
    layout_verb verb;
    layout_format format;
    base_dtype element;
    base_source source[2];
    int count;
    cli_layout_view views[2];
    cli_layout_difference difference;
    cli_layout_plan plan;
} layout_job;

/* ---- usage ---- */
static int usage(const cli_options *options, const char *message, const char *word) {
    return cli_refuse(options, CLI_EXIT_USAGE, "layout-use", "`croft --help` lists the options",
                      "layout: %s%s%.200s", message, word[0] != '\0' ? ": " : "", word);
}

static int find_name(const char *const *names, int count, const char *name) {
    for (int i = 0; i < count; i++)
        if (strcmp(names[i], name) == 0)
            return i;
    return -1;
}

static int read_verb(layout_job *job) {
    const cli_options *options = job->options;
    if (options->word_count == 0)
        return usage(options, "say show, compare or convert", "");
    int verb = find_name(verb_names, VERB_COUNT, options->words[0]);
    if (verb < 0)
        return usage(options, "neither show, compare nor convert", options->words[0]);
    job->verb = (layout_verb)verb;
    job->count = job->verb == VERB_SHOW ? 1 : 2;
    if (options->word_count != job->count + 1)
        return usage(options, job->count == 1 ? "show takes one layout" : "two layouts are needed",
                     "");
    if (job->count == 2 && strcmp(options->words[1], "-") == 0 &&
        strcmp(options->words[2], "-") == 0)
        return usage(options, "only one layout can come from standard input", "");
    return CLI_EXIT_OK;
}

static int read_options(layout_job *job) {
    const cli_options *options = job->options;
    const char *element = options->element != NULL ? options->element : "f32";
    int format = find_name(format_names, FORMAT_COUNT,
                           options->json             ? "json"
                           : options->format != NULL ? options->format
                                                     : format_names[0]);
    if (format < 0)
        return usage(options, "the format is text, json, svg or html", options->format);
    job->format = (layout_format)format;
    if (!base_dtype_from_name(element, strlen(element), &job->element))
        return usage(options, "no element type", element);
    int width = options->width != 0 ? options->width : 1;
    if ((width & (width - 1)) != 0 || width * base_dtype_size(job->element) > WIDEST_BYTES)
        return usage(options, "--width is a power of two of at most 16 bytes", "");
    if (options->machine != NULL && job->verb != VERB_CONVERT)
        return usage(options, "--machine goes with convert", "");
    return CLI_EXIT_OK;
}

/* ---- machines ---- */
static void add_machine(layout_job *job, const machine *added) {
    cli_layout_plan *plan = &job->plan;
    for (int i = 0; i < plan->price_count; i++)
        if (plan->prices[i].machine == added)
            return;
    if (plan->price_count < CLI_LAYOUT_MACHINES)
        plan->prices[plan->price_count++].machine = added;
}

/* All of them, or `--machine NAME,...`. */
static int read_machines(layout_job *job) {
    const char *at = job->options->machine;
    for (int i = 0; at == NULL && machine_at(i) != NULL; i++)
        add_machine(job, machine_at(i));
    while (at != NULL) {
        char name[64] = "";
        size_t length = strcspn(at, ",");
        if (length < sizeof name)
            memcpy(name, at, length);
        const machine *found = machine_find(name);
        if (found == NULL) {
            name[length < sizeof name ? length : 0] = '\0';
            return cli_machine_unknown(job->options, name);
        }
        add_machine(job, found);
        at = at[length] == ',' ? at + length + 1 : NULL;
    }
    return CLI_EXIT_OK;
}

/* ---- layouts ---- */
static bool report(layout_job *job, const base_source *source, const layout_fault *fault) {
    layout_fault_report(&job->diagnostics, source, fault);
    return false;
}

/* CLI_EXIT_OK, or CLI_EXIT_SYSTEM with a finding. */
static int read_source(layout_job *job, int i) {
    static const char *const names[3][2] = {{"layout", ""}, {"A", "B"}, {"A", "B"}};
    const char *word = job->options->words[1 + i];
    base_source *source = &job->source[i];
    if (word[0] == '@' || strcmp(word, "-") == 0)
        return cli_read_file(&job->arena, word[0] == '@' ? word + 1 : word, source,
                             &job->diagnostics)
                   ? CLI_EXIT_OK
                   : CLI_EXIT_SYSTEM;
    *source = (base_source){.name = names[job->verb][i], .text = word, .length = strlen(word)};
    return CLI_EXIT_OK;
}

static bool read_layout(layout_job *job, int i) {
    const base_source *source = &job->source[i];
    layout_tile tile;
    layout_fault fault;
    if (source->length >= CLI_TEXT_LIMIT) {
        base_diagnostic *finding = base_diagnostics_add(
            &job->diagnostics, "source-too-large", (base_location){.source = source},
            "the text is too large for a layout, its end was not read");
        finding->expected =
            base_diagnostics_text(&job->diagnostics, "less than %d bytes", CLI_TEXT_LIMIT);
        return false;
    }
    if (!layout_tile_parse(&job->arena, source->text, source->length, &tile, &fault))
        return report(job, source, &fault);
    int width = job->options->width != 0 ? job->options->width : 1;
    cli_layout_view_make(&job->arena, base_arena_copy(&job->arena, source->text, source->length),
                         &tile, job->element, width, &job->views[i]);
    return true;
}

static void append_sizes(base_text *out, const cli_layout_view *view) {
    base_text_string(out, view->tile.rank == 0 ? "1" : "");
    for (int a = 0; a < view->tile.rank; a++) {
        base_text_string(out, a > 0 ? " x " : "");
        if (view->tile.size[a] == 0)
            base_text_string(out, "*");
        else
            base_text_format(out, "%lld", (long long)view->tile.size[a]);
    }
}

static void append_threads(base_text *out, const cli_layout_view *view) {
    base_text_format(out, "lanes %lld, subgroups %lld, blocks %lld",
                     (long long)view->range[LAYOUT_LANE], (long long)view->range[LAYOUT_SUBGROUP],
                     (long long)view->range[LAYOUT_BLOCK]);
}

/* Two layouts that answer for the same elements in the same threads. */
static bool comparable(layout_job *job) {
    const cli_layout_view *a = &job->views[0], *b = &job->views[1];
    bool sizes = a->tile.rank == b->tile.rank, threads = true;
    for (int axis = 0; sizes && axis < a->tile.rank; axis++)
        sizes = a->tile.size[axis] == b->tile.size[axis];
    for (int holder = LAYOUT_LANE; holder <= LAYOUT_BLOCK; holder++)
        threads = threads && a->range[holder] == b->range[holder];
    if (sizes && threads)
        return true;
    void (*append)(base_text *, const cli_layout_view *) = sizes ? append_threads : append_sizes;
    base_text reason;
    base_text_init(&reason, &job->arena);
    base_text_format(&reason, "the %s of the layouts differ: ", sizes ? "threads" : "sizes");
    append(&reason, a);
    base_text_string(&reason, " against ");
    append(&reason, b);
    layout_fault fault = {
        .slug = "layout-mismatch", .reason = reason.bytes, .length = job->source[1].length};
    return report(job, &job->source[1], &fault);
}

static bool convert(layout_job *job) {
    cli_layout_plan *plan = &job->plan;
    const layout_tile *source = &job->views[0].tile, *destination = &job->views[1].tile;
    layout_fault fault = {0};
    if (!layout_convert(&job->arena, source, destination, &plan->conversion, &fault))
        return report(job, &job->source[1], &fault);
    for (int i = 0; i < plan->price_count; i++)
        plan->prices[i].price =
            layout_price_of(&plan->conversion, source, destination, base_dtype_size(job->element),
                            &plan->prices[i].machine->costs);
    return true;
}

/* ---- reports ---- */
static void print_text(base_text *out, const layout_job *job, bool with_owners) {
    switch (job->verb) {
    case VERB_SHOW:
        cli_layout_show_text(out, &job->views[0], with_owners);
        break;
    case VERB_COMPARE:
        cli_layout_compare_text(out, job->views, &job->difference);
        break;
    case VERB_CONVERT:
        cli_layout_convert_text(out, job->views, &job->plan);
        break;
    }
}

static void write_json(base_json *json, const void *state) {
    const layout_job *job = state;
    switch (job->verb) {
    case VERB_SHOW:
        cli_layout_show_json(json, &job->views[0]);
        break;
    case VERB_COMPARE:
        cli_layout_compare_json(json, job->views, &job->difference);
        break;
    case VERB_CONVERT:
        cli_layout_convert_json(json, job->views, &job->plan);
        break;
    }
}

static void print_html(base_text *out, const layout_job *job) {
    base_text title, text;
    base_text_init(&title, out->arena);
    base_text_init(&text, out->arena);
    base_text_format(&title, "%s ", verb_names[job->verb]);
    for (int i = 0; i < job->count; i++) {
        base_text_string(&title, i > 0 ? ", " : "");
        layout_tile_print_shortest(&title, &job->views[i].tile);
    }
    print_text(&text, job, false);
    cli_layout_html(out, job->views, job->count, title.bytes, text.bytes);
}

static int print_report(layout_job *job) {
    base_text out;
    base_text_init(&out, &job->arena);
    switch (job->format) {
    case FORMAT_TEXT:
        print_text(&out, job, true);
        break;
    case FORMAT_JSON:
        cli_answer_write(job->options, write_json, job);
        break;
    case FORMAT_SVG:
        cli_layout_svg(&out, job->views, job->count);
        break;
    case FORMAT_HTML:
        print_html(&out, job);
        break;
    }
    if (job->format != FORMAT_JSON &&
        !cli_output_text(job->options->output, out.bytes, &job->diagnostics))
        return CLI_EXIT_SYSTEM;
    return job->verb == VERB_COMPARE && !job->difference.equal ? CLI_EXIT_CHECK_FAILED
                                                               : CLI_EXIT_OK;
}

static int layout_run(layout_job *job) {
    bool good = true;
    for (int i = 0; i < job->count; i++) {
        int status = read_source(job, i);
        if (status != CLI_EXIT_OK)
            return status;
    }
    for (int i = 0; i < job->count; i++)
        good &= read_layout(job, i);
    if (!good || (job->count == 2 && !comparable(job)) ||
        (job->verb == VERB_CONVERT && !convert(job)))
        return CLI_EXIT_DIAGNOSTICS;
    if (job->verb == VERB_COMPARE)
        cli_layout_compare(&job->views[0], &job->views[1], &job->difference);
    return print_report(job);
}

int cli_layout(const cli_options *options) {
    layout_job *job = calloc(1, sizeof *job); /* what setjmp would not restore stands outside */
    if (job == NULL)
        return cli_out_of_memory(options);
    job->options = options;
    jmp_buf exhausted;
    base_arena_init(&job->arena, base_allocator_default(), &exhausted);
    base_diagnostics_init(&job->diagnostics, &job->arena);
    int status = read_verb(job);
    status = status == CLI_EXIT_OK ? read_options(job) : status;
    status = status == CLI_EXIT_OK ? read_machines(job) : status;
    if (status == CLI_EXIT_OK) {
        if (setjmp(exhausted) != 0) {
            status = cli_out_of_memory(options);
        } else {
            status = layout_run(job);
            cli_say_findings(options, &job->diagnostics);
        }
    }
    base_arena_free(&job->arena);
    free(job);
    return status;
}
