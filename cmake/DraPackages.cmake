# dra_package(NAME [DEPS packages...] [LIBS libraries...] [TEST_DEPS packages...] [HOT])
#
# Builds library dra_NAME from all .cc files in this folder and below, except *_test.cc, *_fuzz.cc and *_bench.cc, and from *_test.cc files,
# if any, one test program NAME_test that ctest runs. DEPS are packages by name, LIBS are targets of other projects. HOT: tests search in this
# package for long, so that sanitizer builds optimise it; the others take a quarter of the time to compile.
function(dra_package name)
  cmake_parse_arguments(ARG "HOT" "" "DEPS;LIBS;TEST_DEPS;TEST_LIBS" ${ARGN})
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS "${CMAKE_CURRENT_SOURCE_DIR}/*.cc")
  set(tests ${sources})
  list(FILTER tests INCLUDE REGEX "_test\\.cc$")
  list(FILTER sources EXCLUDE REGEX "(_test|_fuzz|_bench)\\.cc$")
  list(TRANSFORM ARG_DEPS PREPEND dra_)
  list(TRANSFORM ARG_TEST_DEPS PREPEND dra_)
  if(sources)
    add_library(dra_${name} STATIC ${sources})
    target_include_directories(dra_${name} PUBLIC "${CMAKE_SOURCE_DIR}")
    target_link_libraries(dra_${name} PUBLIC ${ARG_DEPS} tl::expected PRIVATE ${ARG_LIBS})
    if(NOT ARG_HOT)
      dra_compile_fast_with_sanitizers(dra_${name})
    endif()
  else()
    add_library(dra_${name} INTERFACE)
    target_include_directories(dra_${name} INTERFACE "${CMAKE_SOURCE_DIR}")
    target_link_libraries(dra_${name} INTERFACE ${ARG_DEPS} tl::expected)
  endif()
  if(tests)
    dra_test(${name}_test SOURCES ${tests} DEPS_RAW dra_${name} ${ARG_TEST_DEPS} LIBS ${ARG_LIBS} ${ARG_TEST_LIBS})
  endif()
endfunction()

# For code in which tests do not spend their time.
function(dra_compile_fast_with_sanitizers target)
  if(DRA_SANITIZE AND CMAKE_BUILD_TYPE STREQUAL "Debug")
    target_compile_options(${target} PRIVATE -O0)
  endif()
endfunction()

# dra_test(NAME SOURCES files... [DEPS packages...] [LIBS libraries...] [LABEL label] [UNOPTIMISED]): one GoogleTest program, run by ctest from
# the source root. The default label is "unit"; sanitizer builds run the unit tests. UNOPTIMISED: for code that takes long
# to optimise and does its work in libraries.
function(dra_test name)
  cmake_parse_arguments(ARG "UNOPTIMISED" "LABEL" "SOURCES;DEPS;DEPS_RAW;LIBS" ${ARGN})
  if(NOT ARG_LABEL)
    set(ARG_LABEL unit)
  endif()
  list(TRANSFORM ARG_DEPS PREPEND dra_)
  add_executable(${name} ${ARG_SOURCES})
  target_include_directories(${name} PRIVATE "${CMAKE_SOURCE_DIR}")
  target_link_libraries(${name} PRIVATE ${ARG_DEPS} ${ARG_DEPS_RAW} ${ARG_LIBS} tl::expected GTest::gmock GTest::gtest_main)
  # Test code is compiled with less optimisation, because it takes much of a clean build's time.
  if(ARG_UNOPTIMISED OR NOT CMAKE_BUILD_TYPE STREQUAL "Release")
    set(optimisation -O0)
  else()
    set(optimisation -O1)
  endif()
  target_compile_options(${name} PRIVATE ${optimisation})
  if(DRA_PCH)
    dra_precompiled_headers(${name} ${optimisation})
  endif()
  # `--target unit_tests` builds exactly the tests of `ctest -L unit`.
  if(ARG_LABEL STREQUAL "unit")
    if(NOT TARGET unit_tests)
      add_custom_target(unit_tests)
    endif()
    add_dependencies(unit_tests ${name})
  endif()
  add_test(NAME ${name} COMMAND ${name} WORKING_DIRECTORY "${CMAKE_SOURCE_DIR}")
  set_tests_properties(${name} PROPERTIES TIMEOUT 900 LABELS ${ARG_LABEL})
endfunction()

# Gives a test the precompiled headers of the first test with this optimisation, because they need equal flags. If other flags differ,
# g++ reads the headers themselves, and clang refuses.
function(dra_precompiled_headers name optimisation)
  set_target_properties(${name} PROPERTIES PCH_WARN_INVALID OFF)
  get_property(owner GLOBAL PROPERTY dra_pch${optimisation})
  if(owner)
    target_precompile_headers(${name} REUSE_FROM ${owner})
  else()
    target_precompile_headers(${name} PRIVATE <gmock/gmock.h> <gtest/gtest.h> <algorithm> <chrono> <deque> <functional> <map> <memory>
                              <optional> <set> <string> <string_view> <tl/expected.hpp> <unordered_map> <utility> <variant> <vector>)
    set_property(GLOBAL PROPERTY dra_pch${optimisation} ${name})
  endif()
endfunction()

# dra_program(NAME SOURCES files... [DEPS packages...] [LIBS libraries...] [SERVER]): SERVER programs run for months; their memory is
# jemalloc's (docs/decisions/libraries.md), except with sanitizers, which bring their own.
function(dra_program name)
  cmake_parse_arguments(ARG "SERVER" "" "SOURCES;DEPS;LIBS" ${ARGN})
  list(TRANSFORM ARG_DEPS PREPEND dra_)
  add_executable(${name} ${ARG_SOURCES})
  target_include_directories(${name} PRIVATE "${CMAKE_SOURCE_DIR}")
  target_link_libraries(${name} PRIVATE ${ARG_DEPS} ${ARG_LIBS} tl::expected)
  if(ARG_SERVER AND NOT DRA_SANITIZE)
    target_sources(${name} PRIVATE "${CMAKE_SOURCE_DIR}/cmd/heap.cc")
    target_link_libraries(${name} PRIVATE PkgConfig::JEMALLOC)
  endif()
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/bin")
endfunction()
