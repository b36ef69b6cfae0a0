/* .npy files: reading into owned memory; cli/output.h writes.
 *
 * The data is read, not mapped: a file that shrinks while in use is then a diagnostic and no
 * SIGBUS, and the array can be written to. It costs no memory beyond the array.
 */
#include "npy.h"

#include "npy_header.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* NumPy refuses heads of more than 10,000 bytes by default; these types need about 100. */
enum { HEADER_LIMIT = 65536, PREFIX_LIMIT = 12 };

static const base_location nowhere = {0};

/* ---- reading ---- */

typedef struct npy_file {
    const char *path;
    int descriptor;
    int64_t size_bytes;
    base_diagnostics *diagnostics;
} npy_file;

static bool refuse_system(base_diagnostics *diagnostics, const char *slug, const char *path,
                          const char *action, int error) {
    base_diagnostic *finding =
        base_diagnostics_add(diagnostics, slug, nowhere, "%s: cannot %s", path, action);
    finding->found = base_diagnostics_text(diagnostics, "%s", strerror(error));
    return false;
}

static base_diagnostic *refuse_content(npy_file *file, const char *slug, const char *message) {
    return base_diagnostics_add(file->diagnostics, slug, nowhere, "%s: %s", file->path, message);
}

/* Exactly `length` bytes from `offset`; less is a failure. */
static bool read_at(npy_file *file, void *bytes, int64_t length, int64_t offset) {
    char *next = bytes;
    while (length > 0) {
        ssize_t got = pread(file->descriptor, next, (size_t)length, (off_t)offset);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return refuse_system(file->diagnostics, "file-read", file->path, "read", errno);
        if (got == 0) {
            refuse_content(file, "npy-size", "the file ends while it is read")->found =
                base_diagnostics_text(file->diagnostics, "%lld bytes missing", (long long)length);
            return false;
        }
        next += got;
        offset += got;
        length -= got;
    }
    return true;
}

static bool open_file(npy_file *file) {
    file->descriptor = open(file->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (file->descriptor < 0)
        return refuse_system(file->diagnostics, "file-open", file->path, "open", errno);
    struct stat status;
    if (fstat(file->descriptor, &status) != 0)
        return refuse_system(file->diagnostics, "file-open", file->path, "look at", errno);
    if (!S_ISREG(status.st_mode)) {
        base_diagnostic *finding = refuse_content(file, "file-open", "cannot be read as an array");
        finding->found = S_ISDIR(status.st_mode) ? "a directory" : "a device or pipe";
        finding->expected = "a regular file";
        return false;
    }
    file->size_bytes = status.st_size;
    return true;
}

/* Where the dictionary begins and how long it is, by the version. */
static bool read_prefix(npy_file *file, int64_t *start, int64_t *length) {
    unsigned char prefix[PREFIX_LIMIT] = {0};
    int64_t there = file->size_bytes < PREFIX_LIMIT ? file->size_bytes : PREFIX_LIMIT;
    if (!read_at(file, prefix, there, 0))
        return false;
    if (there < 8 || memcmp(prefix, "\x93NUMPY", 6) != 0) {
        base_diagnostic *finding = refuse_content(file, "npy-magic", "this is not a .npy file");
        finding->found = there < 8 ? base_diagnostics_text(file->diagnostics, "%lld bytes",
                                                           (long long)file->size_bytes)
                                   : "other first bytes";
        finding->expected = "a file that begins with \\x93NUMPY and a version";
        return false;
    }
    if (prefix[6] < 1 || prefix[6] > 3 || prefix[7] != 0) {
        base_diagnostic *finding =
            refuse_content(file, "npy-version", "unknown version of the .npy format");
        finding->found =
            base_diagnostics_text(file->diagnostics, "version %d.%d", prefix[6], prefix[7]);
        finding->expected = "version 1.0, 2.0 or 3.0";
        return false;
    }
    *start = prefix[6] == 1 ? 10 : 12;
    *length = prefix[8] | prefix[9] << 8;
    if (prefix[6] != 1)
        *length |= (int64_t)prefix[10] << 16 | (int64_t)prefix[11] << 24;
    if (there >= *start && *length <= file->size_bytes - *start && *length <= HEADER_LIMIT)
        return true;
    base_diagnostic *finding = refuse_content(file, "npy-header", "the header cannot be that long");
    finding->found =
        base_diagnostics_text(file->diagnostics, "a header of %lld bytes in a file of %lld",
                              (long long)*length, (long long)file->size_bytes);
    finding->expected = base_diagnostics_text(
        file->diagnostics, "a header inside the file, of at most %d bytes", HEADER_LIMIT);
    return false;
}

static bool check_size(npy_file *file, const cli_npy_header *header, int64_t start) {
    int64_t count = 0, there = file->size_bytes - start;
    int64_t element_bytes = base_dtype_size(header->dtype);
    base_diagnostic *finding;
    if (!cli_shape_count(header->rank, header->extent, &count)) {
        finding = refuse_content(file, "npy-shape", "the shape is too large");
        finding->found = "extents whose product does not fit 64 bits";
        return false;
    }
    if (count * element_bytes == there)
        return true;
    finding =
        refuse_content(file, "npy-size",
                       count * element_bytes > there ? "the file is shorter than its shape says"
                                                     : "the file is longer than its shape says");
    finding->found =
        base_diagnostics_text(file->diagnostics, "%lld bytes of data", (long long)there);
    finding->expected = base_diagnostics_text(file->diagnostics, "%lld elements of %s, %lld bytes",
                                              (long long)count, base_dtype_name(header->dtype),
                                              (long long)(count * element_bytes));
    return false;
}

/* NumPy takes any byte but 0 as true; kernels rely on 0 and 1. */
static void normalise_bool(cli_array *array) {
    unsigned char *bytes = array->data;
    for (int64_t i = 0; array->dtype == BASE_BOOL && i < array->count; i++)
        bytes[i] = bytes[i] != 0;
}

static bool read_array(npy_file *file, bool u2_is_bf16, cli_array *array) {
    int64_t start = 0, length = 0;
    cli_npy_header header;
    if (!open_file(file) || !read_prefix(file, &start, &length))
        return false;
    char *text = base_arena_alloc(file->diagnostics->arena, (size_t)length + 1);
    if (!read_at(file, text, length, start) ||
        !cli_npy_header_parse(text, (size_t)length, u2_is_bf16, file->path, &header,
                              file->diagnostics) ||
        !check_size(file, &header, start + length) ||
        !cli_array_create(array, header.dtype, header.rank, header.extent, 0, file->path,
                          file->diagnostics))
        return false;
    if (!read_at(file, array->data, array->size_bytes, start + length)) {
        cli_array_free(array);
        return false;
    }
    normalise_bool(array);
    return true;
}

bool cli_npy_read(const char *path, bool u2_is_bf16, cli_array *array,
                  base_diagnostics *diagnostics) {
    npy_file file = {.path = path, .descriptor = -1, .diagnostics = diagnostics};
    *array = (cli_array){0};
    bool read = read_array(&file, u2_is_bf16, array);
    if (file.descriptor >= 0)
        close(file.descriptor);
    return read;
}

/* ---- writing ---- */

bool cli_npy_stage(cli_output *output, const char *path, const cli_array *array,
                   base_diagnostics *diagnostics) {
    base_text head;
    base_text_init(&head, diagnostics->arena);
    cli_npy_header_print(&head, array);
    cli_output_part parts[2] = {{head.bytes, head.length}, {array->data, array->size_bytes}};
    return cli_output_stage(output, path, parts, 2, diagnostics);
}
