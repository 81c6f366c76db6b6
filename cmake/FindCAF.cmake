# Finds the C++ Actor Framework, which Debian ships without a CMake package of its own.
#
# Components: core, io, openssl. Defines CAF::core, CAF::io, CAF::openssl for those asked for, and
# CAF_VERSION.

find_package(Threads REQUIRED)
find_path(CAF_INCLUDE_DIR NAMES caf/all.hpp)
mark_as_advanced(CAF_INCLUDE_DIR)

# CAF_VERSION in caf/config.hpp is major * 10000 + minor * 100 + patch: 1706 is 0.17.6.
set(CAF_VERSION)
if(CAF_INCLUDE_DIR)
  file(STRINGS "${CAF_INCLUDE_DIR}/caf/config.hpp" caf_version_line REGEX "#define CAF_VERSION ")
  string(REGEX REPLACE "[^0-9]" "" caf_version_number "${caf_version_line}")
  if(caf_version_number)
    math(EXPR caf_major "${caf_version_number} / 10000")
    math(EXPR caf_minor "${caf_version_number} / 100 % 100")
    math(EXPR caf_patch "${caf_version_number} % 100")
    set(CAF_VERSION "${caf_major}.${caf_minor}.${caf_patch}")
  endif()
endif()

foreach(component IN LISTS CAF_FIND_COMPONENTS)
  find_library(CAF_${component}_LIBRARY NAMES caf_${component})
  mark_as_advanced(CAF_${component}_LIBRARY)
  if(CAF_${component}_LIBRARY)
    set(CAF_${component}_FOUND TRUE)
  endif()
endforeach()

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(CAF
  REQUIRED_VARS CAF_INCLUDE_DIR
  VERSION_VAR CAF_VERSION
  HANDLE_COMPONENTS)

if(CAF_FOUND)
  foreach(component IN LISTS CAF_FIND_COMPONENTS)
    if(CAF_${component}_FOUND AND NOT TARGET CAF::${component})
      add_library(CAF::${component} UNKNOWN IMPORTED)
      set_target_properties(CAF::${component} PROPERTIES
        IMPORTED_LOCATION "${CAF_${component}_LIBRARY}"
        INTERFACE_INCLUDE_DIRECTORIES "${CAF_INCLUDE_DIR}"
        INTERFACE_LINK_LIBRARIES Threads::Threads)
      if(NOT component STREQUAL "core" AND TARGET CAF::core)
        set_property(TARGET CAF::${component} APPEND PROPERTY INTERFACE_LINK_LIBRARIES CAF::core)
      endif()
      if(component STREQUAL "openssl" AND TARGET CAF::io)
        set_property(TARGET CAF::openssl APPEND PROPERTY INTERFACE_LINK_LIBRARIES CAF::io)
      endif()
    endif()
  endforeach()
endif()
