# SPDX-License-Identifier: Apache-2.0
# Compiler settings for everything in this tree.
set(CMAKE_C_STANDARD 17)
set(CMAKE_C_STANDARD_REQUIRED ON)
set(CMAKE_C_EXTENSIONS OFF)
set(CMAKE_C_VISIBILITY_PRESET hidden)
set(CMAKE_C_FLAGS_RELWITHDEBINFO "-O3 -g")
add_compile_definitions(_GNU_SOURCE)
add_compile_options(
    -Wall -Wextra -Wpedantic -Werror -Wshadow -Wconversion -Wstrict-prototypes -Wmissing-prototypes -Wvla -Wcast-qual
    -fno-math-errno -fno-trapping-math)
if(STANNIS_SANITIZE)
    add_compile_options(-fsanitize=${STANNIS_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all)
    add_link_options(-fsanitize=${STANNIS_SANITIZE})
endif()
if(STANNIS_FUZZ)
    add_compile_options(-fsanitize=fuzzer-no-link)
endif()
