# All that is looked for on the machine. Nothing is downloaded. Only nlohmann_json and Threads are
# also needed by those who use the library, hence GLOBAL: seen too by whoever adds this project to its own.

find_package(Threads REQUIRED GLOBAL)
find_package(nlohmann_json 3.11 REQUIRED GLOBAL)
find_package(CAF 0.17.6 EXACT REQUIRED COMPONENTS core io)
# Boost's own package makes a target of kind SHARED, and the installed package of tune would name it.
set(Boost_NO_BOOST_CMAKE ON)
find_package(Boost 1.74 REQUIRED COMPONENTS program_options)
find_package(Eigen3 3.4 REQUIRED NO_MODULE)
find_package(ZLIB REQUIRED)
find_package(OpenSSL 3.0)  # without it machines cannot be joined over TLS
find_package(SQLite3 3.38 REQUIRED)
find_package(SQLiteCpp 3.2 REQUIRED)
find_path(XXHASH_INCLUDE_DIR xxhash.h REQUIRED)
mark_as_advanced(XXHASH_INCLUDE_DIR)
add_library(xxhash INTERFACE IMPORTED)  # the header is all of it
target_include_directories(xxhash SYSTEM INTERFACE "${XXHASH_INCLUDE_DIR}")
if(TUNE_BUILD_TESTS)
  find_package(Catch2 2.13 REQUIRED)
endif()
