# The installed package: headers, the shared library, tune::cuda where that was built, and what
# find_package(tune) reads. It asks its users for nlohmann_json and Threads alone.

include(CMakePackageConfigHelpers)
set(tune_package_dir "${CMAKE_INSTALL_LIBDIR}/cmake/tune")

set(tune_installed tune)
if(TUNE_CUDA)
  list(APPEND tune_installed tune_cuda)
endif()
install(TARGETS ${tune_installed} EXPORT tuneTargets
  LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}"
  FILE_SET HEADERS DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}")
install(EXPORT tuneTargets NAMESPACE tune:: DESTINATION "${tune_package_dir}")

configure_package_config_file(
  "${PROJECT_SOURCE_DIR}/cmake/tuneConfig.cmake.in" "${PROJECT_BINARY_DIR}/tuneConfig.cmake"
  INSTALL_DESTINATION "${tune_package_dir}")
write_basic_package_version_file("${PROJECT_BINARY_DIR}/tuneConfigVersion.cmake"
  COMPATIBILITY SameMinorVersion)
install(FILES
  "${PROJECT_BINARY_DIR}/tuneConfig.cmake" "${PROJECT_BINARY_DIR}/tuneConfigVersion.cmake"
  "${PROJECT_SOURCE_DIR}/cmake/tuneAddPlugin.cmake"
  DESTINATION "${tune_package_dir}")
