# One folder, one pair of targets:
#
#   tune_<folder>          (alias tune::<folder>) what those who include from the folder link: include
#                          folders only, no objects. A test that looks inside links this beside tune::tune.
#   tune_<folder>_objects  the compiled sources. All of them together are the shared library tune::tune.
#
# So a source sees its own folder and those in DEPENDS, and an include of any other does not compile.

# The public headers of libtune/include and the one library they need.
add_library(tune_headers INTERFACE)
target_include_directories(tune_headers INTERFACE "${PROJECT_SOURCE_DIR}/libtune/include")
target_link_libraries(tune_headers INTERFACE nlohmann_json::nlohmann_json)
target_compile_features(tune_headers INTERFACE cxx_std_20)

# tune_add_folder(<folder>
#   SOURCES <file>...     compiled files; the list may be empty
#   DEPENDS <folder>...   folders of ours whose headers it includes
#   LINK <target>...      libraries that its sources use
#   HEADERS_LINK <target>... libraries that its private headers include
#   NO_UNITY)             compile each source by itself. Else TUNE_UNITY takes eight at once, in half the
#                         time, and names in anonymous namespaces differ across the folder's files
function(tune_add_folder folder)
  cmake_parse_arguments(PARSE_ARGV 1 arg "NO_UNITY" "" "SOURCES;DEPENDS;LINK;HEADERS_LINK")
  if(arg_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "tune_add_folder(${folder}): unknown argument: ${arg_UNPARSED_ARGUMENTS}")
  endif()

  set(name tune_${folder})
  add_library(${name} INTERFACE)
  add_library(tune::${folder} ALIAS ${name})
  list(TRANSFORM arg_DEPENDS PREPEND "tune::" OUTPUT_VARIABLE depends)
  target_link_libraries(${name} INTERFACE tune_headers ${depends} ${arg_HEADERS_LINK})
  target_include_directories(${name} INTERFACE "${CMAKE_CURRENT_SOURCE_DIR}/include")
  set_property(GLOBAL APPEND PROPERTY TUNE_LIBRARIES ${arg_LINK} ${arg_HEADERS_LINK})

  # Private headers of libtune are checked to compile alone; public ones belong to tune::tune.
  if(CMAKE_CURRENT_SOURCE_DIR MATCHES "/libtune/[a-z]+$")
    file(GLOB_RECURSE headers CONFIGURE_DEPENDS "${CMAKE_CURRENT_SOURCE_DIR}/include/*.hpp")
    if(headers)
      target_sources(${name} INTERFACE FILE_SET HEADERS
        BASE_DIRS "${CMAKE_CURRENT_SOURCE_DIR}/include" FILES ${headers})
    endif()
  else()
    set_property(GLOBAL APPEND PROPERTY TUNE_INCLUDE_DIRS "${CMAKE_CURRENT_SOURCE_DIR}/include")
  endif()

  if(NOT arg_SOURCES)
    return()
  endif()
  set(objects ${name}_objects)
  add_library(${objects} OBJECT ${arg_SOURCES})
  target_link_libraries(${objects} PRIVATE ${name} ${arg_LINK} tune_warnings)
  set_target_properties(${objects} PROPERTIES POSITION_INDEPENDENT_CODE ON)
  if(TUNE_UNITY AND NOT arg_NO_UNITY)
    set_target_properties(${objects} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 8)
  endif()
  if(TUNE_PCH)
    if(TARGET tune_core_objects AND NOT folder STREQUAL "core")
      target_precompile_headers(${objects} REUSE_FROM tune_core_objects)
    else()
      target_precompile_headers(${objects} PRIVATE
        <algorithm> <chrono> <cstdint> <filesystem> <functional> <map> <memory> <optional> <set>
        <span> <string> <string_view> <utility> <variant> <vector> <nlohmann/json.hpp>)
    endif()
  endif()
  set_property(GLOBAL APPEND PROPERTY TUNE_OBJECTS ${objects})
endfunction()

# Makes the shared library tune::tune out of every folder added so far.
function(tune_add_library)
  get_property(objects GLOBAL PROPERTY TUNE_OBJECTS)
  get_property(libraries GLOBAL PROPERTY TUNE_LIBRARIES)
  get_property(folders GLOBAL PROPERTY TUNE_INCLUDE_DIRS)
  set(include_dirs "${PROJECT_SOURCE_DIR}/libtune/include" ${folders})
  list(REMOVE_DUPLICATES libraries)

  # Whatever lies below an include folder is public: found here, so that none is forgotten.
  set(headers)
  foreach(dir IN LISTS include_dirs)
    file(GLOB_RECURSE found CONFIGURE_DEPENDS "${dir}/tune/*.hpp")
    list(APPEND headers ${found})
  endforeach()

  if(NOT objects)
    add_library(tune INTERFACE)
    target_include_directories(tune INTERFACE "$<BUILD_INTERFACE:${include_dirs}>")
    target_link_libraries(tune INTERFACE nlohmann_json::nlohmann_json Threads::Threads)
    add_library(tune::tune ALIAS tune)
    return()
  endif()

  add_library(tune SHARED)
  add_library(tune::tune ALIAS tune)
  foreach(target IN LISTS objects)
    target_sources(tune PRIVATE $<TARGET_OBJECTS:${target}>)
  endforeach()
  target_sources(tune PUBLIC FILE_SET HEADERS BASE_DIRS ${include_dirs} FILES ${headers})
  target_link_libraries(tune
    PUBLIC nlohmann_json::nlohmann_json Threads::Threads
    PRIVATE ${libraries})
  # What came out of a static library is ours alone: a program may have another version of it.
  target_link_options(tune PRIVATE LINKER:--exclude-libs,libSQLiteCpp.a)
  # The library calls its own functions directly: nobody is to put another in their place.
  if(TUNE_HAS_BSYMBOLIC_FUNCTIONS)
    target_link_options(tune PRIVATE LINKER:-Bsymbolic-functions)
  endif()
  target_compile_features(tune PUBLIC cxx_std_20)
  set_target_properties(tune PROPERTIES
    LINKER_LANGUAGE CXX
    VERSION ${PROJECT_VERSION}
    SOVERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR})
endfunction()

# tune_add_example(<name>
#   SOURCES <file>...
#   LINK <target>...     libraries beside tune::tune
#   TEST <arg>...        runs the program with these (or none) under CTest, in an empty folder of its own
#   EXPECT <regex>       what it must print then, beside ending well; `.` matches line ends too
#   TIMEOUT <seconds>)   60 by default
function(tune_add_example name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "TIMEOUT;EXPECT" "SOURCES;LINK;TEST")
  if(arg_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "tune_add_example(${name}): unknown argument: ${arg_UNPARSED_ARGUMENTS}")
  endif()
  if(NOT arg_TIMEOUT)
    set(arg_TIMEOUT 60)
  endif()
  add_executable(${name} ${arg_SOURCES})
  target_link_libraries(${name} PRIVATE tune::tune ${arg_LINK} tune_warnings)
  if(arg_EXPECT AND TUNE_BUILD_TESTS)
    tune_add_example_test(${name} "example ${name}" TEST ${arg_TEST} EXPECT "${arg_EXPECT}" TIMEOUT ${arg_TIMEOUT})
  endif()
endfunction()

# tune_add_example_test(<name> <test> TEST <arg>... EXPECT <regex> TIMEOUT <seconds>): as in
# tune_add_example(); a further test, for an example that is run in several ways.
function(tune_add_example_test name test)
  cmake_parse_arguments(PARSE_ARGV 2 arg "" "TIMEOUT;EXPECT" "TEST")
  string(MAKE_C_IDENTIFIER "${test}" folder)
  set(workdir "${CMAKE_CURRENT_BINARY_DIR}/test_run/${folder}")
  add_test(NAME "${test}"
    COMMAND ${CMAKE_COMMAND} -D "WORKDIR=${workdir}" -P "${PROJECT_SOURCE_DIR}/cmake/run_in_empty_folder.cmake"
      -- $<TARGET_FILE:${name}> ${arg_TEST})
  tune_test_properties("${test}" LABELS examples caf TIMEOUT ${arg_TIMEOUT})
  # With an expectation CTest no longer looks at the exit status itself.
  set_tests_properties("${test}" PROPERTIES
    PASS_REGULAR_EXPRESSION "${arg_EXPECT}"
    FAIL_REGULAR_EXPRESSION "CMake Error.*exit status")
endfunction()
