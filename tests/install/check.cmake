# cmake -D WAY=<installed|embedded|plugin> -D SOURCES= -D BUILD= -D FOLDER= -D COMPILER= -D CUDA=<bool>
#       -P check.cmake
#
# installed: installs the build into a prefix, moves that elsewhere, builds the project with
#            find_package(tune) and runs it.
# plugin:    the same with examples/plugin: loads the plugin by path and by name, and where clang++ is
#            installed sees that it is refused if that has built it and not tune.
# embedded:  builds the project with the sources inside it by add_subdirectory(), and runs it.

function(run)
  execute_process(COMMAND ${ARGV} RESULT_VARIABLE result)
  if(NOT result EQUAL 0)
    list(JOIN ARGV " " command)
    message(FATAL_ERROR "exit status ${result}: ${command}")
  endif()
endfunction()

set(project "${CMAKE_CURRENT_LIST_DIR}/project")
if(WAY STREQUAL "plugin")
  set(project "${SOURCES}/examples/plugin")
endif()
set(build "${FOLDER}/build")
set(configure "${CMAKE_COMMAND}" -S "${project}" -B "${build}" -G Ninja
  "-DCMAKE_CXX_COMPILER=${COMPILER}" -DCMAKE_BUILD_TYPE=Debug)

if(NOT WAY STREQUAL "embedded")
  file(REMOVE_RECURSE "${FOLDER}")
  run("${CMAKE_COMMAND}" --install "${BUILD}" --prefix "${FOLDER}/before")
  file(RENAME "${FOLDER}/before" "${FOLDER}/prefix")

  file(GLOB_RECURSE package "${FOLDER}/prefix/*.cmake")
  foreach(path IN LISTS package)
    file(READ "${path}" text)
    foreach(word IN ITEMS "${SOURCES}" "${BUILD}" "${FOLDER}" "CAF::" "CUDA::" "Eigen3::" "ZLIB::" "Boost" "libcaf")
      string(FIND "${text}" "${word}" at)
      if(NOT at EQUAL -1)
        message(FATAL_ERROR "${path} names ${word}, which its users may not have")
      endif()
    endforeach()
  endforeach()

  run(${configure} "-DCMAKE_PREFIX_PATH=${FOLDER}/prefix")
  run("${CMAKE_COMMAND}" --build "${build}" --parallel 2)
else()
  # Its folder is kept, so that a second run compiles only what changed.
  run(${configure} "-DTUNE_SOURCES=${SOURCES}" -DTUNE_CCACHE=ON)
  run("${CMAKE_COMMAND}" --build "${build}" --parallel 2 --target stranger)
  if(EXISTS "${build}/tune/tests" OR EXISTS "${build}/tune/examples")
    message(FATAL_ERROR "an embedded build makes no tests and examples unless it is asked to")
  endif()
endif()

# Runs the search of the example, and compares how it ends and what it prints.
function(search_with plugin want_result want_text)
  file(REMOVE_RECURSE "${build}/results")
  execute_process(COMMAND "${build}/search" "--tune-plugin=${plugin}" --tune-verbosity=0
    WORKING_DIRECTORY "${build}" RESULT_VARIABLE result OUTPUT_VARIABLE text ERROR_VARIABLE text)
  if(NOT result EQUAL want_result OR NOT text MATCHES "${want_text}")
    message(FATAL_ERROR "search --tune-plugin=${plugin} ended with ${result}, want ${want_result}, "
      "and printed, without \"${want_text}\":\n${text}")
  endif()
endfunction()

if(WAY STREQUAL "plugin")
  search_with("./bold.so" 0 "fall_behind {\"slack\":0.1}: stops what.*12 trials, best {\"x\":[1-5]")
  search_with("bold" 2 "no libbold.so or bold.so in TUNE_PLUGIN_PATH, which is not set")
  set(ENV{TUNE_PLUGIN_PATH} "/nowhere:${build}")
  search_with("bold" 0 "12 trials, best")
  search_with("./search" 2 "search: is no plugin of tune")
  find_program(clang clang++)
  if(clang AND NOT COMPILER MATCHES "clang")
    run("${CMAKE_COMMAND}" -S "${project}" -B "${FOLDER}/clang" -G Ninja
      "-DCMAKE_CXX_COMPILER=${clang}" "-DCMAKE_PREFIX_PATH=${FOLDER}/prefix")
    run("${CMAKE_COMMAND}" --build "${FOLDER}/clang" --target bold)
    search_with("${FOLDER}/clang/bold.so" 2 "another compiler: \"clang [0-9]+\", and tune with \"gcc")
  endif()
  return()
endif()

file(REMOVE_RECURSE "${build}/results")  # of an earlier run in a kept folder
execute_process(COMMAND "${build}/stranger" WORKING_DIRECTORY "${build}" RESULT_VARIABLE result)
if(NOT result EQUAL 0)
  message(FATAL_ERROR "the stranger's program ended with ${result}")
endif()
if(CUDA AND WAY STREQUAL "installed")
  run("${build}/gpu_stranger")
endif()
