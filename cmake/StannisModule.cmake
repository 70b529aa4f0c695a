# SPDX-License-Identifier: Apache-2.0
# stn_module(NAME SOURCES … [USES modules…] [LIBRARIES targets…] [AS_WRITTEN])
#
# A module is a folder of src/ and a static library. Its headers are included by that folder, as "name/file.h" or, for
# src/csd/flash with the NAME csd_flash, as "csd/flash/file.h", through a directory of links that holds this one folder.
# USES names the modules whose headers its files include themselves; what those need in turn comes with them.
# tests/cli/test_layers.py compares USES with the includes, and refuses rings.
# AS_WRITTEN: no product and sum become one rounding, so that unlike processors get the same bits of what nodes replicate.
function(stn_module name)
    cmake_parse_arguments(arg "AS_WRITTEN" "" "SOURCES;USES;LIBRARIES" ${ARGN})
    file(RELATIVE_PATH folder ${CMAKE_SOURCE_DIR}/src ${CMAKE_CURRENT_SOURCE_DIR})
    get_filename_component(parent ${folder} DIRECTORY)
    set(view ${CMAKE_BINARY_DIR}/layers/${name})
    file(MAKE_DIRECTORY ${view}/${parent})
    file(CREATE_LINK ${CMAKE_CURRENT_SOURCE_DIR} ${view}/${folder} SYMBOLIC)

    add_library(${name} STATIC ${arg_SOURCES})
    target_include_directories(${name} PUBLIC ${CMAKE_SOURCE_DIR}/include ${view})
    target_link_libraries(${name} PUBLIC ${arg_USES} PRIVATE ${arg_LIBRARIES})
    # Compiled once for the program, where the linker makes direct calls of it, and for libstannis.
    set_target_properties(${name} PROPERTIES POSITION_INDEPENDENT_CODE ON)
    set_property(GLOBAL APPEND PROPERTY STN_MODULES ${name})
    if(arg_AS_WRITTEN)
        target_compile_options(${name} PRIVATE -ffp-contract=off)
    endif()
endfunction()
