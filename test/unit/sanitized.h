/* Whether this test is built with a sanitizer: then it is our code that is watched, and fewer
 * programs by chance do. */
#ifndef SANITIZED_H
#define SANITIZED_H

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define SANITIZED 1
#endif
#endif
#if defined(__SANITIZE_ADDRESS__)
#define SANITIZED 1
#endif
#if !defined(SANITIZED)
#define SANITIZED 0
#endif

#endif
