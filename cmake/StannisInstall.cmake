# SPDX-License-Identifier: Apache-2.0
# What `make install` installs beside the program, which tools/stannis installs: both libraries, the headers, stannis.pc,
# the manual, completions (man/) and examples. Installing a prefix of its own again writes its stannis.pc anew.

pkg_search_module(MPI_PC QUIET ompi-c mpich)
set(STANNIS_PC_REQUIRES "${MPI_PC_MODULE_NAME} jansson libturbojpeg libpng zlib yaml-0.1")
if(FREEIPMI_FOUND)
    string(APPEND STANNIS_PC_REQUIRES " libfreeipmi")
endif()
set(STANNIS_PC_LIBS "${OpenMP_C_FLAGS} -ldl -lpthread -lm")
if(DNNL_FOUND)
    string(PREPEND STANNIS_PC_LIBS "-ldnnl ")
endif()

install(TARGETS stannis_shared DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(FILES ${CMAKE_BINARY_DIR}/libstannis.a DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(DIRECTORY ${CMAKE_SOURCE_DIR}/include/stannis DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} FILES_MATCHING PATTERN "*.h")
install(FILES LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(DIRECTORY ${CMAKE_SOURCE_DIR}/examples DESTINATION ${CMAKE_INSTALL_DOCDIR})

# The prefix is known when it is installed.
foreach(name PROJECT_VERSION STANNIS_PC_REQUIRES STANNIS_PC_LIBS CMAKE_INSTALL_LIBDIR CMAKE_INSTALL_INCLUDEDIR)
    install(CODE "set(${name} \"${${name}}\")")
endforeach()
install(CODE "
    configure_file(${CMAKE_SOURCE_DIR}/cmake/stannis.pc.in ${CMAKE_BINARY_DIR}/stannis.pc @ONLY)
    file(INSTALL ${CMAKE_BINARY_DIR}/stannis.pc DESTINATION \${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_LIBDIR}/pkgconfig)")

# What has to be built before.
add_custom_target(installed DEPENDS stannis stannis_shared stannis_static manual)
if(TARGET nbdkit_stannis)
    add_dependencies(installed nbdkit_stannis)
endif()
