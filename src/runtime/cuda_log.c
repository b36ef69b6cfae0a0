/* The log of a compilation, which has the figures that nobody else knows.
 *
 *     ptxas info    : Compiling entry function 'croft_softmax' for 'sm_90a'
 *     ptxas info    : Function properties for croft_softmax
 *     ptxas         .     0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
 *     ptxas info    : Used 32 registers, used 1 barriers, 1024 bytes smem
 *
 * Versions differ in what begins the third line and in the order of the fourth, so figures are
 * found by the words behind (or before) them. `used N barriers` and `N bytes smem` are left out
 * when 0. The fourth line belongs to the entry named last; a second entry in one text is not
 * expected.
 */
#include "runtime/cuda_internal.h"

#include <stdio.h>
#include <string.h>

/* One line, cut to what a figure can need. */
typedef struct log_line {
    const char *begin;
    size_t length;
    char text[512];
} log_line;

/* Steps to the next line; false at the end. */
static bool next_line(const char **at, log_line *line) {
    if (**at == '\0')
        return false;
    line->begin = *at;
    line->length = strcspn(*at, "\n");
    *at += line->length + ((*at)[line->length] == '\n');
    snprintf(line->text, sizeof line->text, "%.*s", (int)(line->length < 500 ? line->length : 500),
             line->begin);
    return true;
}

/* The number that stands right before the words. */
static bool number_before(const char *line, const char *words, int64_t *number) {
    const char *at = strstr(line, words);
    if (at == NULL || at == line || at[-1] < '0' || at[-1] > '9')
        return false;
    const char *first = at;
    while (first > line && first[-1] >= '0' && first[-1] <= '9')
        first--;
    if (at - first > 15)
        return false;
    *number = 0;
    for (; first < at; first++)
        *number = 10 * *number + (*first - '0');
    return true;
}

/* Whether `'NAME'` or `for NAME` at the end of the line names the entry. */
static bool names_entry(const char *line, const char *words, const char *entry) {
    const char *at = strstr(line, words);
    size_t length = strlen(entry);
    if (at == NULL)
        return false;
    at += strlen(words);
    return strncmp(at, entry, length) == 0 && (at[length] == '\0' || at[length] == '\'');
}

static bool is_figure(const char *line) {
    return strncmp(line, "ptxas info", 10) == 0 || strstr(line, " bytes stack frame, ") != NULL ||
           line[strspn(line, " \t\r")] == '\0';
}

bool cuda_log_read(const char *log, const char *entry, runtime_facts *facts) {
    bool compiled = false, of_entry = false, has_stack = false, has_registers = false;
    bool spills_known = true;
    log_line line;
    *facts = (runtime_facts){.from = "ptxas"};
    while (next_line(&log, &line)) {
        int64_t number = 0, stores = 0, loads = 0;
        if (strstr(line.text, "Compiling entry function '") != NULL)
            compiled = names_entry(line.text, "Compiling entry function '", entry);
        if (strstr(line.text, "Function properties for ") != NULL)
            of_entry = names_entry(line.text, "Function properties for ", entry);
        if (number_before(line.text, " bytes stack frame", &number)) {
            spills_known &= number_before(line.text, " bytes spill stores", &stores) &&
                            number_before(line.text, " bytes spill loads", &loads);
            facts->spill_bytes += stores + loads;
            has_stack |= of_entry;
            facts->stack_bytes = of_entry ? number : facts->stack_bytes;
        }
        if (!compiled || has_registers || !number_before(line.text, " registers", &number))
            continue;
        has_registers = true;
        facts->registers = (int)number;
        if (number_before(line.text, " barriers", &number))
            facts->barriers = (int)number;
        if (number_before(line.text, " bytes cumulative stack size", &number))
            facts->stack_bytes = number;
        number_before(line.text, " bytes smem", &facts->scratch_bytes);
    }
    return has_stack && has_registers && spills_known;
}

void cuda_log_warnings(const char *log, runtime_report *report) {
    log_line line;
    while (next_line(&log, &line))
        if (!is_figure(line.text))
            runtime_report_add(report, "%s%.*s", report->text[0] != '\0' ? "\n" : "",
                               (int)line.length, line.begin);
}
