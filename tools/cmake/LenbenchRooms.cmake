# One static library per room, so that a room links exactly the rooms it may use.

add_library(lenbench_options INTERFACE)
target_include_directories(lenbench_options INTERFACE "${PROJECT_SOURCE_DIR}/src" "${PROJECT_SOURCE_DIR}")
# g++ 12 reports a false -Wrestrict in std::string at -O2.
target_compile_options(lenbench_options INTERFACE $<$<COMPILE_LANGUAGE:CXX>:-Wall;-Wextra;-Wshadow;-Wnon-virtual-dtor;-Woverloaded-virtual;-Wno-restrict>)
if(LENBENCH_WERROR)
  target_compile_options(lenbench_options INTERFACE $<$<COMPILE_LANGUAGE:CXX>:-Werror> $<$<COMPILE_LANGUAGE:CUDA>:-Werror=all-warnings>)
endif()
if(LENBENCH_SANITIZE)
  target_compile_options(lenbench_options INTERFACE $<$<COMPILE_LANGUAGE:CXX>:-fsanitize=address,undefined;-fno-omit-frame-pointer>)
  target_link_options(lenbench_options INTERFACE -fsanitize=address,undefined)
endif()

if(LENBENCH_FUZZ)
  if(NOT CMAKE_CXX_COMPILER_ID MATCHES "Clang")
    message(FATAL_ERROR "LENBENCH_FUZZ needs clang, which has libFuzzer: install clang (apt-get install clang) and configure with -DCMAKE_CXX_COMPILER=clang++, or run tools/fuzz.sh")
  endif()
  target_compile_options(lenbench_options INTERFACE $<$<COMPILE_LANGUAGE:CXX>:-fsanitize=fuzzer-no-link>)
endif()

# lenbench_room(NAME SOURCES ... ROOMS base ... LIBRARIES fmt::fmt ...)
function(lenbench_room NAME)
  cmake_parse_arguments(ROOM "" "" "SOURCES;ROOMS;LIBRARIES" ${ARGN})
  add_library(lenbench_${NAME} STATIC ${ROOM_SOURCES})
  target_link_libraries(lenbench_${NAME} PUBLIC lenbench_options ${ROOM_LIBRARIES})
  foreach(DEPENDENCY IN LISTS ROOM_ROOMS)
    target_link_libraries(lenbench_${NAME} PUBLIC lenbench_${DEPENDENCY})
  endforeach()
endfunction()

# lenbench_room_tests(NAME LABEL core|nn SOURCES ... ROOMS ... LIBRARIES ...): tests/NAME, one executable, one CTest entry per test.
function(lenbench_room_tests NAME)
  cmake_parse_arguments(ROOM "" "LABEL" "SOURCES;ROOMS;LIBRARIES" ${ARGN})
  add_executable(lenbench_${NAME}_tests ${ROOM_SOURCES})
  target_link_libraries(lenbench_${NAME}_tests PRIVATE lenbench_options GTest::gmock GTest::gtest GTest::gtest_main ${ROOM_LIBRARIES})
  foreach(DEPENDENCY IN LISTS ROOM_ROOMS)
    target_link_libraries(lenbench_${NAME}_tests PRIVATE lenbench_${DEPENDENCY})
  endforeach()
  target_compile_definitions(lenbench_${NAME}_tests PRIVATE LENBENCH_TEST_DATA="${PROJECT_SOURCE_DIR}/tests")
  if(ROOM_LABEL STREQUAL "nn")
    # Loading LibTorch costs half a second, so a room's torch tests share one process.
    add_test(NAME ${NAME} COMMAND lenbench_${NAME}_tests)
    # One thread each: CTest already runs them side by side.
    set_tests_properties(${NAME} PROPERTIES LABELS nn ENVIRONMENT OMP_NUM_THREADS=1)
  else()
    gtest_discover_tests(lenbench_${NAME}_tests TEST_PREFIX "${NAME}." NO_PRETTY_VALUES DISCOVERY_TIMEOUT 60 PROPERTIES LABELS ${ROOM_LABEL})
  endif()
endfunction()
