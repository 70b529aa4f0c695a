# SPDX-License-Identifier: Apache-2.0
# Our own ops, and their vector kernels: the same C files once for each instruction set and channel block.
file(GLOB native_sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_LIST_DIR}/*.c)
target_sources(kernel PRIVATE ${native_sources} ${CMAKE_CURRENT_LIST_DIR}/simd/select.c)

file(GLOB simd_sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_LIST_DIR}/simd/*.c)
list(REMOVE_ITEM simd_sources ${CMAKE_CURRENT_LIST_DIR}/simd/select.c)

# stn_simd(SUFFIX BLOCK flags…)
function(stn_simd suffix block)
    add_library(simd_${suffix} OBJECT ${simd_sources})
    set_target_properties(simd_${suffix} PROPERTIES POSITION_INDEPENDENT_CODE ON)
    target_include_directories(simd_${suffix} PRIVATE $<TARGET_PROPERTY:kernel,INCLUDE_DIRECTORIES>)
    target_compile_definitions(simd_${suffix} PRIVATE SIMD_SUFFIX=${suffix} SIMD_BLOCK=${block})
    # Multiply-adds may be contracted; the vectors never cross a call, so the ABI that GCC warns of does not matter.
    target_compile_options(simd_${suffix} PRIVATE -ffp-contract=fast -Wno-psabi ${ARGN})
    # Spelled-out loops pay where speed counts; instrumented, they take the compiler minutes.
    if(STANNIS_SANITIZE)
        target_compile_definitions(simd_${suffix} PRIVATE "SIMD_INLINE=static inline")
    endif()
    target_sources(kernel PRIVATE $<TARGET_OBJECTS:simd_${suffix}>)
endfunction()

stn_simd(plain 1)
stn_simd(generic8 8)
if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
    stn_simd(avx2 8 -mavx2 -mfma)
    stn_simd(avx512 16 -mavx512f -mavx512vl -mavx512bw -mavx512dq -mfma)
endif()
