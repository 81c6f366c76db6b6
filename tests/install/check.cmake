# cmake -D WAY=<installed|embedded> -D SOURCES= -D BUILD= -D FOLDER= -D COMPILER= -P check.cmake
#
# installed: installs the build into a prefix, moves that elsewhere, builds the project with
#            find_package(tune) and runs it.
# embedded:  builds the project with the sources inside it by add_subdirectory(), and runs it.

function(run)
  execute_process(COMMAND ${ARGV} RESULT_VARIABLE result)
  if(NOT result EQUAL 0)
    list(JOIN ARGV " " command)
    message(FATAL_ERROR "exit status ${result}: ${command}")
  endif()
endfunction()

set(project "${CMAKE_CURRENT_LIST_DIR}/project")
set(build "${FOLDER}/build")
set(configure "${CMAKE_COMMAND}" -S "${project}" -B "${build}" -G Ninja
  "-DCMAKE_CXX_COMPILER=${COMPILER}" -DCMAKE_BUILD_TYPE=Debug)

if(WAY STREQUAL "installed")
  file(REMOVE_RECURSE "${FOLDER}")
  run("${CMAKE_COMMAND}" --install "${BUILD}" --prefix "${FOLDER}/before")
  file(RENAME "${FOLDER}/before" "${FOLDER}/prefix")

  file(GLOB_RECURSE package "${FOLDER}/prefix/*.cmake")
  foreach(path IN LISTS package)
    file(READ "${path}" text)
    foreach(word IN ITEMS "${SOURCES}" "${BUILD}" "${FOLDER}" "CAF::" "Eigen3::" "ZLIB::" "Boost" "libcaf")
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

file(REMOVE_RECURSE "${build}/results")  # of an earlier run in a kept folder
execute_process(COMMAND "${build}/stranger" WORKING_DIRECTORY "${build}" RESULT_VARIABLE result)
if(NOT result EQUAL 0)
  message(FATAL_ERROR "the stranger's program ended with ${result}")
endif()
