# SPDX-License-Identifier: Apache-2.0
# What calls oneDNN.
file(GLOB onednn_sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_LIST_DIR}/*.c)
target_sources(kernel PRIVATE ${onednn_sources})
target_compile_definitions(kernel PRIVATE STANNIS_HAVE_ONEDNN)
target_link_libraries(kernel PRIVATE DNNL::dnnl)
