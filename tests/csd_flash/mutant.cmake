# SPDX-License-Identifier: Apache-2.0
# stn_mutant(NAME FILE FROM TO): csd_cuts with one mistake in it, made by replacing a text of src/csd/flash/FILE, and a test
# that it is caught. The mistakes are not in the product's source in any form; one that no longer applies stops the
# configuration.
function(stn_mutant name file from to)
    set(source ${CMAKE_SOURCE_DIR}/src/csd/flash/${file})
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${source})
    file(READ ${source} text)
    string(FIND "${text}" "${from}" first)
    string(FIND "${text}" "${from}" last REVERSE)
    if(first EQUAL -1 OR NOT first EQUAL last)
        message(FATAL_ERROR "mutant ${name}: ${file} must hold once: ${from}")
    endif()
    string(REPLACE "${from}" "${to}" text "${text}")
    set(mutated ${CMAKE_CURRENT_BINARY_DIR}/mutants/${name}.c)
    file(CONFIGURE OUTPUT ${mutated} CONTENT "@text@" @ONLY)
    add_executable(csd_mutant_${name} ${mutated})
    # Its own object comes before the library's, which is then not taken from the archive.
    target_link_libraries(csd_mutant_${name} PRIVATE csd_histories csd_flash csd_media base m)
    set_property(GLOBAL APPEND PROPERTY CSD_MUTANTS csd_mutant_${name})
endfunction()
