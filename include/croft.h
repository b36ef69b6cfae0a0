/* croft.h: the public face of libcroft.
 *
 * So far the library tells its version; compiling and launching kernels from C comes with the
 * library's own work (docs/roadmap.md). The command `croft` is built on the same objects.
 */
#ifndef CROFT_H
#define CROFT_H

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define CROFT_API __attribute__((visibility("default")))
#else
#define CROFT_API
#endif

#define CROFT_VERSION_MAJOR 0
#define CROFT_VERSION_MINOR 1
#define CROFT_VERSION_PATCH 0

/* `MAJOR.MINOR.PATCH` of the library that is linked, a static string: compare it with the macros of
 * the header that was compiled against. */
CROFT_API const char *croft_version(void);

#ifdef __cplusplus
}
#endif

#endif
