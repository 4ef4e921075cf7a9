// status.h: a failed call's status and its one line of text for a person.
#pragma once

#include "../include/ignis_step.h"

namespace ignis {

// Keeps the formatted text for ignis_last_error() of this thread and returns `status`, so that a check reads
// `return fail(IGNIS_INVALID, "...")`.
__attribute__((format(printf, 2, 3))) ignis_status fail(ignis_status status, const char *format, ...);
const char *last_error();
void clear_last_error();

}  // namespace ignis
