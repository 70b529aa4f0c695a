# SPDX-License-Identifier: Apache-2.0
# stn_module(NAME SOURCES … [USES modules…] [LIBRARIES targets…])
#
# A module is a folder of src/ and a static library. Its headers are included as "name/file.h", through a directory of
# links that holds this one folder: a module that is not in USES is not on the include path, so the layering of
# docs/architecture.md is checked by every compile.
function(stn_module name)
    cmake_parse_arguments(arg "" "" "SOURCES;USES;LIBRARIES" ${ARGN})
    set(view ${CMAKE_BINARY_DIR}/layers/${name})
    file(MAKE_DIRECTORY ${view})
    file(CREATE_LINK ${CMAKE_CURRENT_SOURCE_DIR} ${view}/${name} SYMBOLIC)

    add_library(${name} STATIC ${arg_SOURCES})
    target_include_directories(${name} PRIVATE ${CMAKE_SOURCE_DIR}/include ${view})
    target_include_directories(${name} INTERFACE ${CMAKE_SOURCE_DIR}/include ${view})
    foreach(used ${arg_USES})
        target_include_directories(${name} PRIVATE ${CMAKE_BINARY_DIR}/layers/${used})
        target_link_libraries(${name} PRIVATE $<LINK_ONLY:${used}>)
    endforeach()
    target_link_libraries(${name} PRIVATE ${arg_LIBRARIES})
endfunction()
