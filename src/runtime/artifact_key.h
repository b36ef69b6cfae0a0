/* What decides which module an artifact becomes on one device, as bytes: text, flags, entries and
 * the shape of each launch. Two artifacts with equal bytes are one. */
#ifndef RUNTIME_ARTIFACT_KEY_H
#define RUNTIME_ARTIFACT_KEY_H

#include "runtime/device.h"

/* Writes the bytes; their number. With NULL they are only counted. */
size_t runtime_artifact_key(char *key, const runtime_artifact *artifact);

#endif
