// compile SCRIPT HEADER [lean]: writes the engine's bytecode of a script as a C header; a lean one has
// no numbers of lines. Runs when
// machine-micro-server is built; bytecode is the same for all processors with the same byte order.
#include <quickjs.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char *read_file(const char *path, size_t *length) {
  FILE *file = fopen(path, "rb");
  if (!file) return NULL;
  fseek(file, 0, SEEK_END);
  *length = (size_t)ftell(file);
  rewind(file);
  char *text = malloc(*length + 1);
  if (fread(text, 1, *length, file) != *length) *length = 0;
  text[*length] = '\0';
  fclose(file);
  return text;
}

int main(int count, char **arguments) {
  if (count != 3 && count != 4) {
    fprintf(stderr, "compile SCRIPT HEADER [lean]\n");
    return 2;
  }
  size_t length, size;
  char *text = read_file(arguments[1], &length);
  FILE *header = fopen(arguments[2], "w");
  JSContext *context = JS_NewContext(JS_NewRuntime());
  if (!text || !header) {
    fprintf(stderr, "cannot read %s or write %s\n", arguments[1], arguments[2]);
    return 1;
  }
  JSValue script =
      JS_Eval(context, text, length, "micro.js", JS_EVAL_TYPE_GLOBAL | JS_EVAL_FLAG_COMPILE_ONLY);
  if (JS_IsException(script)) {
    fprintf(stderr, "%s\n", JS_ToCString(context, JS_GetException(context)));
    return 1;
  }
  // Without the source, which only toString() of a function shows; with lines, for stacks.
  int flags = JS_WRITE_OBJ_BYTECODE | (count == 4 ? JS_WRITE_OBJ_STRIP_DEBUG : JS_WRITE_OBJ_STRIP_SOURCE);
  uint8_t *bytes = JS_WriteObject(context, &size, script, flags);
  fprintf(header, "#include <stddef.h>\n#include <stdint.h>\n\nstatic const size_t BYTECODE_LENGTH = "
                  "%zu;\nstatic const uint8_t BYTECODE[] = {", size);
  for (size_t i = 0; i < size; i++) fprintf(header, "%s%u,", i % 24 ? "" : "\n", bytes[i]);
  fprintf(header, "\n};\n");
  return fclose(header) == 0 ? 0 : 1;
}
