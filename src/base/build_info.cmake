# Writes OUTPUT, a C++ file with VERSION and the commit of SOURCE_DIR; leaves it alone when nothing changed.

set(COMMIT "unknown")
find_program(GIT git)
if(GIT)
  # A folder inside somebody else's repository has no commit of its own.
  execute_process(COMMAND "${GIT}" rev-parse --show-prefix WORKING_DIRECTORY "${SOURCE_DIR}"
    OUTPUT_VARIABLE PREFIX RESULT_VARIABLE FAILED OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
  if(NOT FAILED AND PREFIX STREQUAL "")
    execute_process(COMMAND "${GIT}" describe --always --dirty --abbrev=40 --exclude=* WORKING_DIRECTORY "${SOURCE_DIR}"
      OUTPUT_VARIABLE DESCRIBED RESULT_VARIABLE FAILED OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
    if(NOT FAILED AND DESCRIBED MATCHES "^[0-9a-f]+(-dirty)?$")
      set(COMMIT "${DESCRIBED}")
    endif()
  endif()
endif()

set(TEXT "// Written by build_info.cmake.
#include \"base/build_info.h\"

namespace lenbench {

const char* version() { return \"${VERSION}\"; }

const char* commit() { return \"${COMMIT}\"; }

}  // namespace lenbench
")
set(OLD "")
if(EXISTS "${OUTPUT}")
  file(READ "${OUTPUT}" OLD)
endif()
if(NOT OLD STREQUAL TEXT)
  file(WRITE "${OUTPUT}" "${TEXT}")
endif()
