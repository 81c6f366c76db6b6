# Warnings for our own targets (tune_warnings), and what applies to the whole build: sanitizers,
# compiler cache, linker.

set(tune_warning_flags -Wall -Wextra)
if(TUNE_WERROR)
  list(APPEND tune_warning_flags -Werror)
endif()
# g++ 12 sees faults in its own std::string once it inlines it (its bugs 105651 and 105329).
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  list(APPEND tune_warning_flags
    -Wno-array-bounds -Wno-restrict -Wno-stringop-overflow -Wno-stringop-overread)
endif()
# nvcc hands them on to the host's compiler.
list(JOIN tune_warning_flags "," tune_warning_flags_cuda)
add_library(tune_warnings INTERFACE)
target_compile_options(tune_warnings INTERFACE
  "$<$<COMPILE_LANGUAGE:CXX>:${tune_warning_flags}>"
  "$<$<COMPILE_LANGUAGE:CUDA>:-Xcompiler=${tune_warning_flags_cuda}>"
  "$<$<AND:$<COMPILE_LANGUAGE:CUDA>,$<BOOL:${TUNE_WERROR}>>:-Werror=all-warnings>")

if(TUNE_SANITIZE)
  add_compile_options(-fsanitize=${TUNE_SANITIZE} -fno-omit-frame-pointer -g)
  add_link_options(-fsanitize=${TUNE_SANITIZE})
  if(TUNE_SANITIZE MATCHES "undefined")
    # CAF's headers bind references to null where nothing reads them.
    add_compile_options(-fno-sanitize=null -fno-sanitize-recover=undefined)
  endif()
endif()

set(TUNE_CCACHE_STATE "off")
if(TUNE_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  find_program(TUNE_CCACHE_PROGRAM ccache)
  mark_as_advanced(TUNE_CCACHE_PROGRAM)
  if(TUNE_CCACHE_PROGRAM)
    # Paths are made relative, so that another clone or build folder of the same shape hits too.
    set(CMAKE_CXX_COMPILER_LAUNCHER
      ${CMAKE_COMMAND} -E env
      CCACHE_BASEDIR=${PROJECT_SOURCE_DIR} CCACHE_NOHASHDIR=1
      CCACHE_SLOPPINESS=pch_defines,time_macros
      ${TUNE_CCACHE_PROGRAM})
    set(TUNE_CCACHE_STATE "${TUNE_CCACHE_PROGRAM}")
  else()
    set(TUNE_CCACHE_STATE "not found")
  endif()
endif()

include(CheckLinkerFlag)
check_linker_flag(CXX "LINKER:-Bsymbolic-functions" TUNE_HAS_BSYMBOLIC_FUNCTIONS)
set(TUNE_MOLD_STATE "off")
if(TUNE_MOLD)
  check_linker_flag(CXX "-fuse-ld=mold" TUNE_HAS_MOLD)
  if(TUNE_HAS_MOLD)
    add_link_options(-fuse-ld=mold)
    set(TUNE_MOLD_STATE "on")
  else()
    set(TUNE_MOLD_STATE "not found")
  endif()
endif()
