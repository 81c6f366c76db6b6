# tune_add_test() and tune_test_properties(): how tests are declared, labelled and bounded in time.

set(TUNE_TIMEOUT_FACTOR 1)
if(TUNE_SANITIZE MATCHES "address")
  set(TUNE_TIMEOUT_FACTOR 4)
elseif(TUNE_SANITIZE MATCHES "thread")
  set(TUNE_TIMEOUT_FACTOR 10)
elseif(CMAKE_BUILD_TYPE STREQUAL "Debug")
  set(TUNE_TIMEOUT_FACTOR 3)
endif()

# What is tested is optimised as it will be used; the tests themselves need not be, and compile in
# two thirds of the time. One set of options, since they share a precompiled header.
set(TUNE_TEST_OPTIONS "$<$<CONFIG:Release>:-O1>")

# What our test programs return where a test could not be run.
set(TUNE_TEST_SKIPPED 77)

# A test that wants GPUs brings a library of its own; else there are none, whatever the machine has.
set(TUNE_TEST_ENVIRONMENT
  "TUNE_NVML_LIBRARY=none"
  "ASAN_OPTIONS=detect_stack_use_after_return=1:abort_on_error=0"
  "UBSAN_OPTIONS=print_stacktrace=1"
  "TSAN_OPTIONS=suppressions=${PROJECT_SOURCE_DIR}/cmake/tsan.supp:halt_on_error=0")

# tune_test_properties(<test> LABELS <label>... TIMEOUT <seconds>): for a test that add_test() made.
function(tune_test_properties test)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "TIMEOUT" "LABELS")
  math(EXPR timeout "${arg_TIMEOUT} * ${TUNE_TIMEOUT_FACTOR}")
  set_tests_properties("${test}" PROPERTIES
    LABELS "${arg_LABELS}" TIMEOUT ${timeout} SKIP_RETURN_CODE ${TUNE_TEST_SKIPPED}
    ENVIRONMENT "${TUNE_TEST_ENVIRONMENT}")
endfunction()

# tune_add_test(<name>
#   SOURCES <file>...    Catch2 tests; one executable for all
#   LINK <target>...     beside tune::tune: tune::engine for its private headers, CAF::core, ...
#   LABELS <label>...    the folder's name by default
#   TIMEOUT <seconds>    for each test case, 30 by default; longer under sanitizers
#   ON_PROCESSES         runs what is not tagged [threads] once more, with TUNE_TEST_ISOLATION=processes
#   USES_CAF             starts actors, or calls what does: left out under the thread sanitizer
#   IN_MEMORY            writes so much that its files had better not wait for a disk
#   NO_UNITY)            as in tune_add_folder()
function(tune_add_test name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "ON_PROCESSES;USES_CAF;IN_MEMORY;NO_UNITY" "TIMEOUT" "SOURCES;LINK;LABELS")
  if(arg_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "tune_add_test(${name}): unknown argument: ${arg_UNPARSED_ARGUMENTS}")
  endif()
  if(NOT arg_SOURCES)
    return()
  endif()
  if(NOT arg_LABELS)
    cmake_path(GET CMAKE_CURRENT_SOURCE_DIR FILENAME arg_LABELS)
  endif()
  if(arg_USES_CAF)
    list(APPEND arg_LABELS caf)
  endif()
  if(NOT arg_TIMEOUT)
    set(arg_TIMEOUT 30)
  endif()
  math(EXPR timeout "${arg_TIMEOUT} * ${TUNE_TIMEOUT_FACTOR}")

  add_executable(${name} ${arg_SOURCES})
  target_compile_options(${name} PRIVATE ${TUNE_TEST_OPTIONS})
  target_link_libraries(${name} PRIVATE tune::tune tune_test_support ${arg_LINK} tune_warnings)
  if(TUNE_UNITY AND NOT arg_NO_UNITY)
    set_target_properties(${name} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 8)
  endif()
  if(TUNE_PCH)
    target_precompile_headers(${name} REUSE_FROM tune_test_support)
  endif()
  # catch_discover_tests() expands its properties three times: so deep is a list's semicolon escaped.
  list(JOIN arg_LABELS "\\\\\\\;" labels)
  if(arg_IN_MEMORY AND IS_DIRECTORY /dev/shm)
    list(APPEND TUNE_TEST_ENVIRONMENT "TMPDIR=/dev/shm")
  endif()
  list(JOIN TUNE_TEST_ENVIRONMENT "\\\\\\\;" environment)
  catch_discover_tests(${name}
    TEST_PREFIX "${name}: "
    PROPERTIES LABELS "${labels}" TIMEOUT ${timeout} SKIP_RETURN_CODE ${TUNE_TEST_SKIPPED}
      ENVIRONMENT "${environment}")
  if(arg_ON_PROCESSES)
    catch_discover_tests(${name}
      TEST_SPEC "~[threads]"
      TEST_PREFIX "${name} on processes: "
      PROPERTIES LABELS "${labels}" TIMEOUT ${timeout} SKIP_RETURN_CODE ${TUNE_TEST_SKIPPED}
        ENVIRONMENT "${environment}\\\\\\\;TUNE_TEST_ISOLATION=processes")
  endif()
endfunction()
