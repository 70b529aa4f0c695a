# SPDX-License-Identifier: Apache-2.0
# cmake -DOUT=builtin.c -DHEADER=sim/device_builtin.h -DPREFIX=sim -DFILES=a.yaml,b.yaml -P Embed.cmake: the files as
# texts of a C source, an array PREFIX_builtins of the struct that the header has.
string(REPLACE "," ";" FILES "${FILES}")
set(texts "")
set(rows "")
set(index 0)
foreach(file ${FILES})
    get_filename_component(name ${file} NAME)
    file(READ ${file} hex HEX)
    string(REGEX REPLACE "(..)" "0x\\1," bytes "${hex}")
    string(REGEX REPLACE "(.....................................................................................)" "\\1\n    " bytes "${bytes}")
    string(APPEND texts "// ${name}\nstatic const char text_${index}[] = {\n    ${bytes}0};\n\n")
    string(APPEND rows "    {\"${name}\", text_${index}, sizeof(text_${index}) - 1},\n")
    math(EXPR index "${index} + 1")
endforeach()
file(WRITE ${OUT} "// Made by cmake/Embed.cmake from share/devices.\n#include \"${HEADER}\"\n\n${texts}"
     "const struct ${PREFIX}_builtin ${PREFIX}_builtins[] = {\n${rows}};\nconst int ${PREFIX}_builtin_count = ${index};\n")
