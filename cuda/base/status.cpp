#include "status.h"

#include <stdarg.h>
#include <stdio.h>

namespace ignis {

static thread_local char error_text[512];

ignis_status fail(ignis_status status, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(error_text, sizeof error_text, format, arguments);
  va_end(arguments);
  return status;
}

const char *last_error() { return error_text; }
void clear_last_error() { error_text[0] = 0; }

}  // namespace ignis
