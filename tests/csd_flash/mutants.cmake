# SPDX-License-Identifier: Apache-2.0
# Mistakes that must be caught. csd_mutant(NAME FILE FROM TO [SEED]) makes one by replacing a text of src/csd/flash/FILE that
# is there once, and adds a test that the histories (with CASES: the cases of test_flash.c) fail with it. The product's sources know nothing of this; a mistake
# that no longer applies stops the configuration.
function(csd_mutant name file from to)
    set(source ${CMAKE_SOURCE_DIR}/src/csd/flash/${file})
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${source})
    file(READ ${source} text)
    string(FIND "${text}" "${from}" first)
    string(FIND "${text}" "${from}" last REVERSE)
    if(first EQUAL -1 OR NOT first EQUAL last)
        message(FATAL_ERROR "mutant ${name}: src/csd/flash/${file} must hold this once: ${from}")
    endif()
    string(REPLACE "${from}" "${to}" text "${text}")
    set(mutated ${CMAKE_CURRENT_BINARY_DIR}/mutants/${name}.c)
    file(GENERATE OUTPUT ${mutated} CONTENT "${text}")
    if("CASES" IN_LIST ARGN) # caught by the cases of test_flash.c, not by chance
        add_executable(csd_mutant_${name} test_flash.c ${mutated})
        target_include_directories(csd_mutant_${name} PRIVATE ${CMAKE_SOURCE_DIR}/tests)
        target_link_libraries(csd_mutant_${name} PRIVATE csd_histories csd_ecc m PkgConfig::CRYPTO cmocka)
        target_compile_options(csd_mutant_${name} PRIVATE -w)
        add_test(NAME csd_mutant_${name} COMMAND csd_mutant_${name})
        set_tests_properties(csd_mutant_${name} PROPERTIES LABELS unit TIMEOUT 300 PASS_REGULAR_EXPRESSION "FAILED TEST")
        return()
    endif()
    # This object comes before the library, whose own is then not taken.
    add_executable(csd_mutant_${name} cuts.c ${mutated})
    target_link_libraries(csd_mutant_${name} PRIVATE csd_histories csd_ecc m PkgConfig::CRYPTO)
    target_compile_options(csd_mutant_${name} PRIVATE -w)
    list(APPEND ARGN 1)
    list(GET ARGN 0 seed) # of a history that notices soon
    add_test(NAME csd_mutant_${name} COMMAND csd_mutant_${name} 100000 ${seed})
    set_tests_properties(csd_mutant_${name} PROPERTIES LABELS unit TIMEOUT 300
                         PASS_REGULAR_EXPRESSION "FAILED after [0-9]+ cuts")
endfunction()

csd_mutant(collecting_forgets_trims records.c
"            leave_home(f, record);
            f->records.pending++;"
"            leave_home(f, record);
            record->batch = record->kind == RECORD_TRIM ? UINT64_MAX : 0;
            f->records.pending += record->kind != RECORD_TRIM;")

csd_mutant(moving_takes_a_new_seq collect.c
"*waiting = (struct waiting){.meta = meta, .from = place, .slot = o->slot};"
"uint8_t plain[FLASH_UNIT_BYTES];
        cipher_decrypt(f->spaces[o->slot].cipher, meta.lpn, meta.seq, data, plain);
        meta.seq = ++f->seq;
        cipher_encrypt(f->spaces[o->slot].cipher, meta.lpn, meta.seq, plain, data);
        *waiting = (struct waiting){.meta = meta, .from = place, .slot = o->slot};" CASES)

csd_mutant(summary_without_crc unit.c
"return base_get_le(raw + AT_CRC, 4) == ecc_crc32c(0, raw, AT_CRC);"
"return raw[AT_META] == UNIT_SUMMARY || base_get_le(raw + AT_CRC, 4) == ecc_crc32c(0, raw, AT_CRC);")

csd_mutant(flush_without_sync write.c
"return result || f->stamp == f->durable ? result : block_sync(f);"
"return result;")

csd_mutant(flush_forgets_trims write.c
"result = result ? result : records_put(f, STREAM_HOT);"
"")

csd_mutant(mapped_before_programmed write.c
"    space->copies[lpn]++;
"
"    space->copies[lpn]++;
    map_set(f, slot, lpn, MAP_UNWRITTEN);
" CASES)

csd_mutant(summed_up_before_sync block.c
"    bool all_durable = !records_waiting(f);"
"    for (uint32_t i = 0; i < f->block_count; i++) {
        if (f->blocks[i].state == BLOCK_FULL && !f->recovering) {
            (void)!sum_up(f, i);
        }
    }
    bool all_durable = !records_waiting(f);")

csd_mutant(erase_not_synced block.c
"    block_set_state(f, block, BLOCK_ERASING);"
"    block_set_state(f, block, BLOCK_FREE);")

csd_mutant(buried_before_copies_are_durable collect.c
"b->state != BLOCK_FULL) || !b->empty)"
"b->state != BLOCK_FULL) || b->valid)" 8)

csd_mutant(erased_before_buried collect.c
"            block_set_state(f, i, BLOCK_DYING);
            count++;"
"            block_set_state(f, i, BLOCK_DYING);
            map_forget_block(f, i);
            (void)!block_erase(f, i);
            count++;")

csd_mutant(erased_blocks_trusted_after_a_cut recover.c
"clean && !s->dirty ? BLOCK_FREE"
"!s->dirty ? BLOCK_FREE")

csd_mutant(continued_at_the_first_hole recover_scan.c
"        if (!erased) {
            s->next"
"        if (!erased && s->next == p) {
            s->next")

csd_mutant(recovers_without_syncing_first recover.c
"f->medium->ops->sync(f->medium)"
"false")

csd_mutant(seq_begins_anew recover.c
"f->seq = r->seq + units;"
"f->seq = 1;")

csd_mutant(unreadable_not_written_down recover_unread.c
"    result = result ? result : records_put(f, STREAM_MOVE);
    result = result ? result : stream_flush(f, STREAM_MOVE);
    f->recovering = false;"
"    f->records.pending = 0;
    f->recovering = false;")

csd_mutant(key_destroyed_before_the_table_says_so namespace.c
"    f->leaving = id;"
"    (void)!keys_destroy(f->keys, id);
    f->leaving = id;")

csd_mutant(moved_unit_hides_a_newer_one map.c
"waiting->from == PLACE_NONE || waiting->from == now"
"true" CASES)

csd_mutant(burials_not_believed recover.c
"s->retired || s->generation <= s->buried;
        for"
"s->retired || s->generation == 0;
        for")

csd_mutant(clean_mark_stays table.c
"    if (!f->clean_mark) {"
"    f->clean_mark = false;
    if (!f->clean_mark) {")
