option(WG_SANITIZE "Build with ASan and UBSan" OFF)
option(WG_TSAN "Build with TSan (clang only: g++'s does not know fences)" OFF)
option(WG_FUZZ "Build the fuzz targets with libFuzzer, ASan and UBSan (clang only)" OFF)

add_link_options(-fuse-ld=lld)
if(WG_SANITIZE)
  # g++ 12 reports a false new/delete mismatch on coroutine frames under ASan.
  add_compile_options(-fsanitize=address,undefined -fno-sanitize-recover=undefined -fno-omit-frame-pointer -Wno-mismatched-new-delete)
  add_link_options(-fsanitize=address,undefined)
elseif(WG_FUZZ)
  add_compile_options(-fsanitize=fuzzer-no-link,address,undefined -fno-sanitize-recover=undefined -fno-omit-frame-pointer)
  add_link_options(-fsanitize=address,undefined)
elseif(WG_TSAN)
  add_compile_options(-fsanitize=thread -fno-omit-frame-pointer)
  add_compile_definitions(BOOST_ASIO_DISABLE_FENCED_BLOCK)
  add_link_options(-fsanitize=thread)
endif()

function(wg_warnings target)
  target_compile_options(${target} PRIVATE -Wall -Wextra -Wconversion -Wshadow -Wnon-virtual-dtor -Werror)
  # g++ 12 sees overlapping copies in inlined std::string::insert that cannot be (gcc bug 105651), from -O3 on.
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
    target_compile_options(${target} PRIVATE $<$<CONFIG:Release>:-Wno-restrict>)
  endif()
  # clang's builds look for bugs at run time (TSan, fuzzing); which warnings are errors is g++'s to say. libstdc++ 12 calls
  # std::get_temporary_buffer itself, for which clang blames its caller.
  if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
    target_compile_options(${target} PRIVATE -Wno-error -Wno-deprecated-declarations)
  endif()
endfunction()
