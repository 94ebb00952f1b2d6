# Language level, warnings and sanitizers, the same for every target.
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)

set(DRA_SANITIZE "" CACHE STRING "Comma-separated list for -fsanitize=, for example address,undefined")
option(DRA_FUZZ "Build the libFuzzer targets (needs clang)" OFF)
option(DRA_HARDEN "Compile with what makes exploits harder: for what is shipped (preset hardened)" OFF)
option(DRA_UNITY "Compile twelve files at a time: less time for a clean build, more after a change of one file" OFF)
option(DRA_WERROR "Treat warnings as errors" ON)

add_compile_options(-Wall -Wextra -Wshadow -Wnon-virtual-dtor -Wno-missing-field-initializers)
if(DRA_WERROR)
  add_compile_options(-Werror)
endif()
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # g++ 12 reports false positives of these three in optimised code of the standard library and nlohmann-json.
  add_compile_options(-Wno-maybe-uninitialized -Wno-stringop-overflow -Wno-restrict -Wno-array-bounds -Wno-dangling-pointer
                      -Wno-stringop-overread -Wno-free-nonheap-object
                      # Unity builds: a .cc is then included by another file, which this warning takes for a header.
                      -Wno-subobject-linkage)
endif()
if(DRA_SANITIZE)
  add_compile_options(-fsanitize=${DRA_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all)
  add_link_options(-fsanitize=${DRA_SANITIZE})
  # For tests; clang 14 and g++ tell it in different ways.
  if(DRA_SANITIZE MATCHES "address")
    add_compile_definitions(DRA_SANITIZES_ADDRESSES)
  endif()
  if(DRA_SANITIZE MATCHES "thread")
    add_compile_definitions(DRA_SANITIZES_THREADS)
    # ThreadSanitizer does not support stand-alone fences; asio's are redundant because of its mutexes.
    add_compile_definitions(BOOST_ASIO_DISABLE_FENCED_BLOCK)
    if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
      add_compile_options(-Wno-tsan)
    endif()
  endif()
endif()
# Linking: position-independent programs, relocations resolved before main() and read-only from then on.
include(CheckPIESupported)
check_pie_supported(LANGUAGES CXX)
add_link_options(-Wl,-z,relro -Wl,-z,now -Wl,-z,noexecstack)
# Compiling: stack canaries, checked libc calls, stack probes page by page, and control-flow protection where the processor has it. Not
# together with sanitizers, which have their own checks.
if(DRA_HARDEN AND NOT DRA_SANITIZE)
  # The same bytes from a clone in another folder, and with or without ccache, which makes paths below CCACHE_BASEDIR relative to the build folder.
  file(RELATIVE_PATH DRA_SOURCE_FROM_BUILD "${CMAKE_BINARY_DIR}" "${CMAKE_SOURCE_DIR}")
  string(REGEX REPLACE "/$" "" DRA_SOURCE_FROM_BUILD "${DRA_SOURCE_FROM_BUILD}")
  add_compile_options("-ffile-prefix-map=${DRA_SOURCE_FROM_BUILD}=." "-ffile-prefix-map=${CMAKE_SOURCE_DIR}=.")
  add_compile_options(-fstack-protector-strong $<$<NOT:$<CONFIG:Debug>>:-U_FORTIFY_SOURCE>
                      $<$<NOT:$<CONFIG:Debug>>:-D_FORTIFY_SOURCE=2>)
  # clang 14 has no stack probes on ARM.
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" OR CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
    add_compile_options(-fstack-clash-protection)
  endif()
  if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
    add_compile_options(-fcf-protection=full)
  elseif(CMAKE_SYSTEM_PROCESSOR MATCHES "aarch64")
    add_compile_options(-mbranch-protection=standard)
  endif()
endif()
# lld links a debug server in 0.2 s, bfd needs 0.9 s.
find_program(DRA_LLD NAMES ld.lld)
if(DRA_LLD)
  add_link_options(-fuse-ld=lld)
endif()
find_program(DRA_CCACHE NAMES ccache)
if(DRA_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  # What one clone compiled is found by another clone in another folder.
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env "CCACHE_BASEDIR=${CMAKE_SOURCE_DIR}" CCACHE_NOHASHDIR=1 ${DRA_CCACHE})
endif()
