# cmake -D WORKDIR=<folder> -P run_in_empty_folder.cmake -- <program> <argument>...
# Runs a program in a folder that is emptied first, with HOME there too, and fails as it does.

set(command)
set(is_command FALSE)
math(EXPR last "${CMAKE_ARGC} - 1")
foreach(index RANGE ${last})
  if(is_command)
    list(APPEND command "${CMAKE_ARGV${index}}")
  elseif(CMAKE_ARGV${index} STREQUAL "--")
    set(is_command TRUE)
  endif()
endforeach()

file(REMOVE_RECURSE "${WORKDIR}")
file(MAKE_DIRECTORY "${WORKDIR}")
set(ENV{HOME} "${WORKDIR}")
unset(ENV{TUNE_STORAGE_PATH})
execute_process(COMMAND ${command} WORKING_DIRECTORY "${WORKDIR}" RESULT_VARIABLE result)
if(NOT result EQUAL 0)
  message(FATAL_ERROR "exit status ${result}: ${command}")
endif()
