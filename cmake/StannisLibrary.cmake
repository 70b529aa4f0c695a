# SPDX-License-Identifier: Apache-2.0
# stn_library(FACE modules… HEADERS files…): libstannis.so.0 and libstannis.a of these modules and of all that they use.
#
# The shared library shows what src/stannis.map says. So does the static one: its objects are linked into one, in which
# every hidden name becomes local, and a program that links it may have names of its own like ours.
function(stn_closure out)
    get_property(modules GLOBAL PROPERTY STN_MODULES)
    set(found "")
    set(foreign "")
    set(ahead ${ARGN})
    while(ahead)
        list(POP_FRONT ahead item)
        if(item IN_LIST modules AND NOT item IN_LIST found)
            list(APPEND found ${item})
            get_target_property(links ${item} LINK_LIBRARIES)
            list(APPEND ahead ${links})
        elseif(NOT item IN_LIST modules)
            list(APPEND foreign ${item})
        endif()
    endwhile()
    list(REMOVE_DUPLICATES foreign)
    set(${out} ${found} PARENT_SCOPE)
    set(${out}_FOREIGN ${foreign} PARENT_SCOPE)
endfunction()

function(stn_library)
    cmake_parse_arguments(arg "" "" "FACE" ${ARGN})
    stn_closure(modules ${arg_FACE})
    set(archives "")
    foreach(module ${modules})
        list(APPEND archives $<TARGET_FILE:${module}>)
    endforeach()
    set(whole ${CMAKE_BINARY_DIR}/stannis_whole.o)
    add_custom_command(OUTPUT ${whole}
        COMMAND ${CMAKE_C_COMPILER} -r -nostdlib -Wl,--whole-archive ${archives} -o ${whole}
        DEPENDS ${modules} COMMAND_EXPAND_LISTS VERBATIM)
    set_source_files_properties(${whole} PROPERTIES EXTERNAL_OBJECT TRUE GENERATED TRUE)

    set(map ${CMAKE_SOURCE_DIR}/src/stannis.map)
    add_library(stannis_shared SHARED ${whole})
    target_link_libraries(stannis_shared PRIVATE ${modules_FOREIGN})
    target_link_options(stannis_shared PRIVATE -Wl,--version-script=${map} -Wl,-Bsymbolic-functions)
    if(NOT STANNIS_SANITIZE) # whose runtime is the program's
        target_link_options(stannis_shared PRIVATE -Wl,--no-undefined)
    endif()
    set_target_properties(stannis_shared PROPERTIES LINKER_LANGUAGE C OUTPUT_NAME stannis LINK_DEPENDS ${map}
                          VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION_MAJOR})

    # The way out of Open MPI is the program's (src/comm/escape.c): it takes a name of Open MPI's for the whole process.
    set(archive ${CMAKE_BINARY_DIR}/libstannis.a)
    add_custom_command(OUTPUT ${archive}
        COMMAND ${CMAKE_OBJCOPY} --localize-hidden --localize-symbol=ompi_rte_abort ${whole} stannis.o
        COMMAND ${CMAKE_COMMAND} -E rm -f ${archive}
        COMMAND ${CMAKE_AR} rcs ${archive} stannis.o
        COMMAND ${CMAKE_COMMAND} -E rm -f stannis.o
        DEPENDS ${whole} VERBATIM)
    add_custom_target(stannis_static ALL DEPENDS ${archive})
    # Both are made of ${whole}, which is made once.
    add_dependencies(stannis_static stannis_shared)
endfunction()
